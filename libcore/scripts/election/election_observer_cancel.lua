--@script election_observer_cancel keys=6 args=5
--@reply GONE
-- SPDX-License-Identifier: MIT
-- Observe no more.
-- KEYS leader, fence, wait, live, value, seen
-- ARGV entry, then as election_cancel, not looked at
-- returns {GONE}, also when there was none, so a retry is harmless
--@include reply

redis.call("ZREM", KEYS[6], ARGV[1])
return { GONE }
