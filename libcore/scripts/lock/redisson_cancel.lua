--@script redisson_cancel keys=5 args=6
--@reply RELEASED i i
--@reply GONE
-- SPDX-License-Identifier: MIT
-- Leave the wait queue of a lock in Redisson's layout; the lock or a wake-up
-- that this waiter had got already goes on to the next.
-- KEYS lock, fence, wait, live, readers
-- ARGV entry, owner, Redisson's channel, grant ms, limit, liveness ms
-- returns {RELEASED, more, denied} (it held) | {GONE}
-- A retry or a late copy finds neither entry nor owner; at most it wakes the
-- first waiter again.
--@include token
--@include free_redisson

local lock, wait = KEYS[1], KEYS[3]
local entry, owner, channel, grant_ms, limit, liveness =
  ARGV[1], token_at(2), ARGV[3], number_at(4, 1), number_at(5, 1), number_at(6, 1)
if misuse then
  return misuse
end

local mine = redis.call("HEXISTS", lock, owner) == 1
redis.call("ZREM", wait, entry)
if mine then
  local more, denied = free_redisson(channel, grant_ms, limit, liveness)
  return { REQUEST + RELEASED, more, denied }
end
if redis.call("EXISTS", lock) == 0 then
  grant(1, grant_ms, limit, liveness, "barge")
end
return { REQUEST + GONE }
