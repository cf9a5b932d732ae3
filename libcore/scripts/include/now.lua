-- SPDX-License-Identifier: MIT
-- The server's clock, in whole microseconds since 1970; below 2^53.
-- A 6.2 that is told to replicate scripts as text refuses a write after
-- TIME; replicating the effects is the default there and all there is later.
if redis.replicate_commands then
  redis.replicate_commands()
end

local function now_us()
  local time = redis.call("TIME")
  return time[1] * 1000000 + time[2]
end
