--@script state_refresh keys=4 args=5+
--@reply BUSY i i i *
-- SPDX-License-Identifier: MIT
-- Extend the liveness of a client that waits for a change, and return for each
-- of its waiters whether one has come.
-- KEYS state, once, wait, live
-- ARGV client, liveness ms, grant ms, limit, n, then n entries; grant ms and
--   limit keep the places they have for a lock
-- returns {BUSY, -1, now us, 1, then for each entry: QUEUED | GONE (something
--   changed, or the server forgot it: try again), 0, 0}
-- A retry or a late copy extends the liveness once more.
--@include now
--@include liveness
--@include entries

local wait, live = KEYS[3], KEYS[4]
local client, liveness = ARGV[1], number_at(2, 1)
check_entries(5)
if misuse then
  return misuse
end

local now = now_us()
extend_liveness(wait, live, client, now, liveness)
return report_entries({ REQUEST + BUSY, -1, now, 1 }, 5, function(entry)
  return redis.call("ZSCORE", wait, entry) and QUEUED or GONE, 0, 0
end)
