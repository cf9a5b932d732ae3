--@script election_proclaim keys=6 args=3
--@reply WRITTEN
--@reply LOST
-- SPDX-License-Identifier: MIT
-- Let the leader publish another value.
-- KEYS leader, fence, wait, live, value, seen    ARGV token, value, limit
-- returns {WRITTEN} | {LOST}: it leads no longer, nothing is changed
-- A retry finds the value written, and wakes nobody twice. A late copy could
-- write its older value over a newer one of the same leader.
--@include token
--@include observers
--@include publish_value

local token, value, limit = token_at(1), ARGV[2], number_at(3, 1)
if misuse then
  return misuse
end

if redis.call("GET", place.lock) ~= token then
  return { REQUEST + LOST }
end
check_types()
if (redis.call("HGET", place.values, token) or "") == value then
  return { REQUEST + WRITTEN }
end
local lease = redis.call("PTTL", place.lock)
local _, record_token = read_record(place.record)
if value == "" then
  redis.call("HDEL", place.values, token)
end
publish_value(token, value, lease)
if record_token == token then
  redis.call("HINCRBY", place.record, "version", 1)
end
tell_observers(limit)
return { REQUEST + WRITTEN }
