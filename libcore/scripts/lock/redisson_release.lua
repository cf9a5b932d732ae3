--@script redisson_release keys=5 args=6
--@reply RELEASED i i
--@reply LOST i i s
-- SPDX-License-Identifier: MIT
-- Release a lock in Redisson's layout, publish to Redisson's waiters as Redisson
-- does, and wake the first of ours.
-- KEYS lock, fence, wait, live, readers
-- ARGV owner, Redisson's channel, grant ms, limit, liveness ms, request id of
--   a break ('': a release)
-- returns {RELEASED, more, denied}
--   | {LOST, born, broken, by}: see include/evidence.lua
-- A retry or a late copy finds the owner gone and touches nobody's lock.
--@include token
--@include evidence
--@include free_redisson
--@include mark_break

local owner, channel, grant_ms, limit, liveness =
  token_at(1), ARGV[2], number_at(3, 1), number_at(4, 1), number_at(5, 1)
local request = ARGV[6]
if misuse then
  return misuse
end

if is_broken_by(KEYS[2], request) then
  return { REQUEST + RELEASED, 0, 0 }
end
if redis.call("HEXISTS", KEYS[1], owner) == 0 then
  return lost(KEYS[2], owner)
end
local more, denied = free_redisson(channel, grant_ms, limit, liveness)
if request ~= "" then
  mark_break(KEYS[2], request, owner)
end
return { REQUEST + RELEASED, more, denied }
