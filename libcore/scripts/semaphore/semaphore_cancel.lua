--@script semaphore_cancel keys=4 args=5
--@reply RELEASED i i
--@reply GONE
-- SPDX-License-Identifier: MIT
-- Leave the wait queue; permits that were granted already go to the next, and so
-- do those that stayed free because this waiter needs many.
-- KEYS semaphore, fence, wait, live
-- ARGV entry, token, grant ms, limit, liveness ms
-- returns {RELEASED, more, denied} (it had been granted) | {GONE}
-- A retry or a late copy finds neither entry nor token: no two waits have the
-- same.
--@include replicate_effects
--@include token
--@include lease_end
--@include return_permits

local key, record, wait = KEYS[1], KEYS[2], KEYS[3]
local entry, token, grant_ms, limit = ARGV[1], token_at(2), number_at(3, 1), number_at(4, 1)
local liveness = number_at(5, 1)
if misuse then
  return misuse
end

local held, more, denied = lease_ends_at(key, token), 0, 0
redis.call("ZREM", wait, entry)
if held then
  return_permits(key, record, token)
end

--@include grant_permits
if redis.call("EXISTS", wait) == 1 then
  more, denied = grant_permits(grant_ms, limit, liveness)
end
if held then
  return { REQUEST + RELEASED, more, denied }
end
return { REQUEST + GONE }
