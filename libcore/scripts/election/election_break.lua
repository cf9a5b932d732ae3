--@script election_break keys=6 args=5
--@reply RELEASED i i
--@reply LOST
-- SPDX-License-Identifier: MIT
-- Take the lead away from the leader, as an operator may: the first candidate
-- that can be reached leads from now on.
-- KEYS leader, fence, wait, live, value, seen
-- ARGV token ('': whoever leads), grant ms, limit, liveness ms, request id
-- returns {RELEASED, more, denied} | {LOST}: nobody leads under this token
-- A retry or a late copy finds its request id in the record, as for lock_break.
--@include number
--@include elect
--@include end_leadership
--@include mark_break

local token, grant_ms, limit, liveness = ARGV[1], number_at(2, 1), number_at(3, 1), number_at(4, 1)
local request = ARGV[5]
if misuse then
  return misuse
end

local leader = redis.call("GET", place.lock)
if is_broken_by(place.record, request) then
  return { REQUEST + RELEASED, 0, 0 }
end
if not leader or token ~= "" and leader ~= token then
  return { REQUEST + LOST }
end
check_types()
redis.call("DEL", place.lock)
redis.call("HDEL", place.values, leader)
mark_break(place.record, request, leader)
local more, denied, elected = elect(grant_ms, limit, liveness)
if not elected then
  end_leadership(leader, limit)
end
return { REQUEST + RELEASED, more, denied }
