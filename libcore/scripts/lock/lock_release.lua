--@script lock_release keys=5 args=5
--@reply RELEASED i i
--@reply LOST i i
-- SPDX-License-Identifier: MIT
-- Release the lock and grant it to the first waiter.
-- KEYS lock, fence, wait, live, readers
-- ARGV token, grant ms, limit, barge 0|1 (wake the first, grant nothing),
--   liveness ms
-- returns {RELEASED, more, denied}
--   | {LOST, born, broken}: see include/evidence.lua
-- A retry or a late copy finds the token gone and touches nobody's lock.
--
-- As in lock_acquire, the common case comes first: nobody waits.

local lock, wait, token = KEYS[1], KEYS[3], ARGV[1]
local is_held = token ~= "" and token ~= READERS and redis.call("GET", lock) == token
if is_held and redis.call("EXISTS", wait) == 0 then
  redis.call("DEL", lock)
  return { REQUEST + RELEASED, 0, 0 }
end

--@include replicate_effects
--@include token
local grant_ms, limit = number_at(2, 1), number_at(3, 1)
local mode, liveness = ARGV[4] == "1" and "barge" or nil, number_at(5, 1)
token = token_at(1)
if misuse then
  return misuse
end

if not is_held then
  --@include evidence
  return lost(KEYS[2], token)
end
redis.call("DEL", lock)

--@include grant
local more, denied = grant(1, grant_ms, limit, liveness, mode, nil, "open")
return { REQUEST + RELEASED, more, denied }
