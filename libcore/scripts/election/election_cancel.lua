--@script election_cancel keys=6 args=5
--@reply RELEASED i i
--@reply GONE
-- SPDX-License-Identifier: MIT
-- Leave the wait queue; a leadership that was granted already goes to the next.
-- KEYS leader, fence, wait, live, value, seen
-- ARGV entry, token, grant ms, limit, liveness ms
-- returns {RELEASED, more, denied} (it had been elected) | {GONE}
-- A retry or a late copy finds neither entry nor token: no two waits have the
-- same.
--@include token
--@include elect
--@include end_leadership

local entry, token, grant_ms, limit = ARGV[1], token_at(2), number_at(3, 1), number_at(4, 1)
local liveness = number_at(5, 1)
if misuse then
  return misuse
end

local leader = redis.call("GET", place.lock)
check_types()
redis.call("ZREM", place.wait, entry)
redis.call("HDEL", place.values, token)
if leader and leader ~= token then
  return { REQUEST + GONE }
end

redis.call("DEL", place.lock)
local more, denied, elected = elect(grant_ms, limit, liveness)
if leader and not elected then
  end_leadership(token, limit)
end
return leader and { REQUEST + RELEASED, more, denied } or { REQUEST + GONE }
