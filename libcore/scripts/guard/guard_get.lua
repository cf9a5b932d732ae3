--@script guard_get keys=2 args=1
--@reply HELD i s
--@reply FREE i
--@reply STALE i
-- SPDX-License-Identifier: MIT
-- Read a guarded value, and refuse from now on writes under a smaller fence.
-- KEYS value, guard    ARGV fence (0: only read)
-- returns {HELD, fence, value} | {FREE, fence}: there is no value; the fence
-- is the one on record now | {STALE, the greater fence}: nothing is changed
-- A retry or a late copy raises the fence to the same again, or is refused by a
-- greater one that came in between.
--@include reply
--@include number

local key, guard = KEYS[1], KEYS[2]
local fence = number_at(1, 0)
if misuse then
  return misuse
end

local value = redis.call("GET", key)
local last = tonumber(redis.call("GET", guard) or 0)
if fence > 0 and fence < last then
  return { STALE, last }
end
if fence > last then
  redis.call("SET", guard, string.format("%.0f", fence))
  last = fence
end
if not value then
  return { FREE, last }
end
return { HELD, last, value }
