-- SPDX-License-Identifier: MIT
-- A latch: hash {left, initial, keep}. `keep` is its expiry in ms, restarted
-- while somebody counts down or waits.

-- Returns what is left to count and the number it began with, which is `count`
-- when the server has none. The caller answers DIFFERS when that is another.
local function read_latch(key, count)
  local latch = redis.call("HMGET", key, "left", "initial")
  return tonumber(latch[1]) or count, tonumber(latch[2]) or count
end
