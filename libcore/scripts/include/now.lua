-- SPDX-License-Identifier: MIT
-- The server's clock, in whole microseconds since 1970; below 2^53.
--@include replicate_effects

local function now_us()
  local time = redis.call("TIME")
  return time[1] * 1000000 + time[2]
end
