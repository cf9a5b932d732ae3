-- SPDX-License-Identifier: MIT
-- The clock of the tests, instead of the server's: microseconds in a key.
local clock, now_text

local function now_us()
  now_text = redis.call("GET", "ilk:test:now")
  clock = tonumber(now_text)
  return clock
end
