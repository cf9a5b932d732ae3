--@script state_cancel keys=4 args=5
--@reply GONE
--@token 2
-- SPDX-License-Identifier: MIT
-- Leave the wait queue for a change.
-- KEYS state, once, wait, live
-- ARGV entry, token, grant ms, limit, liveness ms; all but the entry keep the
--   places they have for a lock
-- returns {GONE}
-- A retry or a late copy finds no entry.

redis.call("ZREM", KEYS[3], ARGV[1])
return { REQUEST + GONE }
