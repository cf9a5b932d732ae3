--@script lock_cancel keys=5 args=6
--@reply RELEASED i i
--@reply GONE
-- SPDX-License-Identifier: MIT
-- Leave the wait queue; a grant that was already under way goes to the next.
-- KEYS lock, fence, wait, live, readers
-- ARGV entry, token, grant ms, limit, barge 0|1, liveness ms
-- returns {RELEASED, more, denied} (it had been granted) | {GONE}
-- A retry or a late copy finds neither entry nor token: no two waits have the
-- same.
--@include replicate_effects
--@include token

local lock, wait = KEYS[1], KEYS[3]
local entry, token, grant_ms, limit = ARGV[1], token_at(2), number_at(3, 1), number_at(4, 1)
local mode, liveness = ARGV[5] == "1" and "barge" or nil, number_at(6, 1)
if misuse then
  return misuse
end

local value = redis.call("GET", lock)
redis.call("ZREM", wait, entry)
if value and value ~= token and value ~= READERS then
  return { REQUEST + GONE }
end

-- Readers behind a writer that leaves may enter beside the current readers; a
-- wake-up that was sent to this waiter goes on to the next.
--@include grant
if value == READERS then
  mode = "join"
elseif value == token then
  redis.call("DEL", lock)
end
local more, denied = grant(1, grant_ms, limit, liveness, mode, nil, "wake")
if value == token then
  return { REQUEST + RELEASED, more, denied }
end
return { REQUEST + GONE }
