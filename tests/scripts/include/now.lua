-- SPDX-License-Identifier: MIT
-- The clock of the tests, instead of the server's: microseconds in a key.
local function now_us()
  return tonumber(redis.call("GET", "ilk:test:now"))
end
