-- SPDX-License-Identifier: MIT
-- The server's clock, in whole microseconds since 1970; below 2^53.
--@include replicate_effects

-- The last result of now_us(), and its digits: Lua takes longer to write a number than
-- to read one, see digits.lua.
local clock, now_text

local function now_us()
  local time = redis.call("TIME")
  now_text = time[1] .. string.sub("00000" .. time[2], -6)
  clock = tonumber(now_text)
  return clock
end
