--@script redisson_refresh keys=5 args=5+
--@reply BUSY i i i *
--@reply FREE i i i *
--@reply MORE i i i *
-- SPDX-License-Identifier: MIT
-- lock_refresh for Redisson's layout: if the lock is free, the first in the wait
-- queue is woken.
-- KEYS lock, fence, wait, live, readers
-- ARGV client, liveness ms, grant ms, limit, n, then n entries
-- returns {BUSY | FREE | MORE (call again), holder's pttl, now us, ours,
--   then for each entry: HELD | QUEUED | GONE (woken, or forgotten: acquire
--   again), lease left, fence}
-- A retry or a late copy may wake the next as well: a wake-up is a hint to try.
--@include now
--@include number
--@include liveness
--@include grant
--@include entries

local lock, record, wait, live = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local client, liveness, grant_ms, limit = ARGV[1], number_at(2, 1), number_at(3, 1), number_at(4, 1)
check_entries(5)
if misuse then
  return misuse
end

local fence, record_token = read_record(record)
local ours = redis.call("HEXISTS", lock, record_token or "")
local now, left = now_us(), redis.call("PTTL", lock)
extend_liveness(wait, live, client, now, liveness)
local more = 0
if left == -2 then
  more = grant(1, grant_ms, limit, liveness, "barge")
end

-- Without a fence that can rise nothing can be granted: the waiters are GONE, and
-- get the error when they acquire again.
local function state_of(entry)
  local e = parse_entry(entry)
  if redis.call("HEXISTS", lock, e.token) == 1 then
    return HELD, left, record_token == e.token and fence or 0
  end
  return fence and redis.call("ZSCORE", wait, entry) and QUEUED or GONE, 0, 0
end

local state = more == 1 and MORE or left == -2 and FREE or BUSY
return report_entries({ REQUEST + state, left, now, ours }, 5, state_of)
