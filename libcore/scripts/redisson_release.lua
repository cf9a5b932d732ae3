--@script redisson_release keys=5 args=5
--@reply RELEASED i i
--@reply LOST
-- SPDX-License-Identifier: MIT
-- Give a lock in Redisson's layout up, tell Redisson's waiters as it does
-- itself, and wake the first of ours.
-- KEYS lock, fence, wait, live, readers
-- ARGV owner, Redisson's channel, grant ms, limit, liveness ms
-- returns {RELEASED, more, denied} | {LOST}
-- A retry finds the owner gone and touches nobody's lock.
--@include token
--@include free

local owner, channel, grant_ms, limit, liveness =
  token_at(1), ARGV[2], number_at(3, 1), number_at(4, 1), number_at(5, 1)
if misuse then
  return misuse
end

if redis.call("HEXISTS", KEYS[1], owner) == 0 then
  return { LOST }
end
local more, denied = free_redisson(channel, grant_ms, limit, liveness)
return { RELEASED, more, denied }
