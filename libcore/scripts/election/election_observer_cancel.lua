--@script election_observer_cancel keys=6 args=5
--@reply GONE
-- SPDX-License-Identifier: MIT
-- End an observer's wait.
-- KEYS leader, fence, wait, live, value, seen
-- ARGV entry, then as election_cancel, ignored
-- returns {GONE}, also when there was none, so a retry is harmless

redis.call("ZREM", KEYS[6], ARGV[1])
return { REQUEST + GONE }
