--@script rwlock_release keys=5 args=4
--@reply RELEASED i i
--@reply LOST i i s
-- SPDX-License-Identifier: MIT
-- Leave as a reader; after the last one the lock goes to the first waiter.
-- KEYS lock, fence, wait, live, readers
-- ARGV token, grant ms, limit, liveness ms
-- returns {RELEASED, more, denied}
--   | {LOST, born, broken, by}: see include/evidence.lua
-- A retry or a late copy finds the token gone; the other readers stay.
--@include token
--@include evidence
--@include reader_leave

local token, grant_ms, limit, liveness = token_at(1), number_at(2, 1), number_at(3, 1), number_at(4, 1)
if misuse then
  return misuse
end

if redis.call("GET", KEYS[1]) ~= READERS then
  return lost(KEYS[2], token)
end
local held, more, denied = reader_leave(token, grant_ms, limit, liveness)
if not held then
  return lost(KEYS[2], token)
end
return { REQUEST + RELEASED, more, denied }
