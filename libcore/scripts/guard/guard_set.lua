--@script guard_set keys=2 args=2
--@reply WRITTEN
--@reply STALE i
-- SPDX-License-Identifier: MIT
-- Write a value unless a greater fence is on record.
-- KEYS value, guard    ARGV fence (0: no check, none recorded), value
-- returns {WRITTEN} | {STALE, the greater fence}: nothing is changed
-- A retry writes the same value again, or is refused by a greater fence that
-- came in between. So is a late copy; but under an equal fence, or 0, it would
-- write its older value over a newer one.
--@include number
--@include no_fence

local key, guard = KEYS[1], KEYS[2]
local fence, value = number_at(1, 0), ARGV[2]
if misuse then
  return misuse
end

redis.call("STRLEN", key)
local last = fence_value(redis.call("GET", guard) or "0", 9007199254740992)
if not last then
  return no_fence(guard)
end
if fence > 0 and fence < last then
  return { REQUEST + STALE, last }
end
if fence > last then
  redis.call("SET", guard, string.format("%.0f", fence))
end
redis.call("SET", key, value)
return { REQUEST + WRITTEN }
