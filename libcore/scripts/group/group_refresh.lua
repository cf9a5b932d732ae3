--@script group_refresh keys=6 args=5+
--@reply BUSY i i i *
-- SPDX-License-Identifier: MIT
-- Extend the liveness of a client that watches a group, remove members whose lease
-- has ended, and return for each of its waiters whether something changed.
-- KEYS members, data, wait, live, changed, gone
-- ARGV client, liveness ms, grant ms, limit, n, then n entries; grant ms keeps the
--   place it has for a lock
-- returns {BUSY, ms until the next lease ends (-1: none), now us, 1, then for each
--   entry: QUEUED | GONE (something changed, or the server forgot it), 0, 0}
-- A retry or a late copy extends the liveness once more.
--@include now
--@include liveness
--@include entries
--@include group_dead

local client, liveness, limit = ARGV[1], number_at(2, 1), number_at(4, 1)
check_entries(5)
if misuse then
  return misuse
end

local now = now_us()
extend_liveness(group.wait, group.live, client, now, liveness)
remove_dead(now, limit * 16)
local soonest = redis.call("ZRANGE", group.members, 0, 0, "WITHSCORES")[2]
local left = soonest and math.max(soonest - math.floor(now / 1000), 0) or -1
return report_entries({ REQUEST + BUSY, left, now, 1 }, 5, function(entry)
  return redis.call("ZSCORE", group.wait, entry) and QUEUED or GONE, 0, 0
end)
