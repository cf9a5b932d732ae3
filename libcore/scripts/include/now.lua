-- SPDX-License-Identifier: MIT
-- The server's clock, in whole microseconds since 1970; below 2^53.
--@include replicate_effects

-- The digits of what now_us() returned last: Lua takes longer to write a number than
-- to read one.
local now_text

local function now_us()
  local time = redis.call("TIME")
  now_text = time[1] .. string.sub("00000" .. time[2], -6)
  return tonumber(now_text)
end
