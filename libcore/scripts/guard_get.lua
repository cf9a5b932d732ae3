--@script guard_get keys=2 args=0
--@reply HELD i s
--@reply FREE i
-- SPDX-License-Identifier: MIT
-- Read a guarded value and the greatest fence that has written.
-- KEYS value, guard
-- returns {HELD, fence, value} | {FREE, fence}: there is no value
-- Writes nothing, so a retry is harmless.
--@include reply

local value = redis.call("GET", KEYS[1])
local fence = tonumber(redis.call("GET", KEYS[2]) or 0)
if not value then
  return { FREE, fence }
end
return { HELD, fence, value }
