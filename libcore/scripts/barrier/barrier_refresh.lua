--@script barrier_refresh keys=5 args=5+
--@reply BUSY i i i *
-- SPDX-License-Identifier: MIT
-- Extend the liveness of a client that waits at a barrier, break the round if
-- one of its parties is dead, and return the state of the client's waiters.
-- KEYS barrier, arrived, wait, live, rounds
-- ARGV client, liveness ms, grant ms, limit, n, then n entries; grant ms keeps
--   the place it has for a lock
-- returns {BUSY, ms until somebody may be found dead (-1: never), now us, 1,
--   then for each entry: QUEUED | GONE (the round is over: send barrier_wait), 0, 0}
-- A retry or a late copy finds the round broken already, or does the same for
-- the round that is open then.
--@include replicate_effects
--@include now
--@include liveness
--@include entries
--@include barrier_fault

local wait, live = KEYS[3], KEYS[4]
local client, liveness, limit = ARGV[1], number_at(2, 1), number_at(4, 1)
check_entries(5)
if misuse then
  return misuse
end

local now, b, left = now_us(), read_barrier(), -1
if b.first > 0 then
  extend_liveness(wait, live, client, now, liveness)
  local fault = find_fault(b, now)
  if fault then
    end_round(b, "broken " .. fault, limit * 16)
  else
    write_barrier(b)
    local soonest = tonumber(redis.call("ZRANGE", live, 0, 0, "WITHSCORES")[2])
    left = soonest - math.floor(now / 1000)
  end
end
return report_entries({ REQUEST + BUSY, left, now, 1 }, 5, function(entry)
  return redis.call("ZSCORE", wait, entry) and QUEUED or GONE, 0, 0
end)
