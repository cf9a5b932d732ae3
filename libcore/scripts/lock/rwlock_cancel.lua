--@script rwlock_cancel keys=5 args=5
--@reply RELEASED i i
--@reply GONE
-- SPDX-License-Identifier: MIT
-- Leave the wait queue as a reader, or the lock, if it had been granted already.
-- KEYS lock, fence, wait, live, readers
-- ARGV entry, token, grant ms, limit, liveness ms
-- returns {RELEASED, more, denied} (it had been granted) | {GONE}
-- A retry or a late copy finds neither entry nor token: no two waits have the
-- same.
--@include token
--@include reader_leave

local lock, wait, readers = KEYS[1], KEYS[3], KEYS[5]
local entry, token, grant_ms, limit = ARGV[1], token_at(2), number_at(3, 1), number_at(4, 1)
local liveness = number_at(5, 1)
if misuse then
  return misuse
end

local value = redis.call("GET", lock)
redis.call("ZREM", wait, entry)
if value == READERS and redis.call("ZSCORE", readers, token) then
  local _, more, denied = reader_leave(token, grant_ms, limit, liveness)
  return { REQUEST + RELEASED, more, denied }
end
-- A wake-up that was sent to this waiter goes on to the next.
if not value or value == READERS then
  grant(1, grant_ms, limit, liveness, value and "join" or nil, nil, "wake")
end
return { REQUEST + GONE }
