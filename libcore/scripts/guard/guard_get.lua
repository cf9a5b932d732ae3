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
--@include number
--@include no_fence

local key, guard = KEYS[1], KEYS[2]
local fence = number_at(1, 0)
if misuse then
  return misuse
end

local value = redis.call("GET", key)
local last = fence_value(redis.call("GET", guard) or "0", 9007199254740992)
if not last then
  return no_fence(guard)
end
if fence > 0 and fence < last then
  return { REQUEST + STALE, last }
end
if fence > last then
  redis.call("SET", guard, string.format("%.0f", fence))
  last = fence
end
if not value then
  return { REQUEST + FREE, last }
end
return { REQUEST + HELD, last, value }
