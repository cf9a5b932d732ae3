--@script election_resign keys=6 args=4
--@reply RELEASED i i
--@reply LOST i i s
-- SPDX-License-Identifier: MIT
-- Resign: the first in the wait queue leads from now on.
-- KEYS leader, fence, wait, live, value, seen
-- ARGV token, grant ms, limit, liveness ms
-- returns {RELEASED, more, denied}
--   | {LOST, born, broken, by}: see include/evidence.lua
-- A retry or a late copy finds the token gone and touches nobody's leadership.
--@include token
--@include evidence
--@include elect
--@include end_leadership

local token, grant_ms, limit, liveness = token_at(1), number_at(2, 1), number_at(3, 1), number_at(4, 1)
if misuse then
  return misuse
end

if redis.call("GET", place.lock) ~= token then
  return lost(place.record, token)
end
check_types()
redis.call("DEL", place.lock)
redis.call("HDEL", place.values, token)
local more, denied, elected = elect(grant_ms, limit, liveness)
if not elected then
  end_leadership(token, limit)
end
return { REQUEST + RELEASED, more, denied }
