--@script latch_refresh keys=4 args=5+
--@reply BUSY i i i *
-- SPDX-License-Identifier: MIT
-- As state_refresh; it also extends the expiry of a latch with waiters.
-- KEYS latch, once, wait, live
-- ARGV client, liveness ms, grant ms, limit, n, then n entries
-- returns {BUSY, -1, now us, 1, then for each entry: QUEUED | GONE, 0, 0}
-- A retry or a late copy extends both once more.
--@include now
--@include liveness
--@include entries

local latch, _, wait, live = unpack(KEYS)
local client, liveness = ARGV[1], number_at(2, 1)
check_entries(5)
if misuse then
  return misuse
end

local now, keep = now_us(), redis.call("HGET", latch, "keep")
extend_liveness(wait, live, client, now, liveness)
if keep then
  redis.call("PEXPIRE", latch, keep)
end
return report_entries({ REQUEST + BUSY, -1, now, 1 }, 5, function(entry)
  return keep and redis.call("ZSCORE", wait, entry) and QUEUED or GONE, 0, 0
end)
