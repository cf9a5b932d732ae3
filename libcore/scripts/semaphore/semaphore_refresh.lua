--@script semaphore_refresh keys=4 args=5+
--@reply BUSY i i i *
--@reply FREE i i i *
--@reply MORE i i i *
-- SPDX-License-Identifier: MIT
-- Extend a client's liveness, grant free permits, and return the state of each
-- of the client's waiters. A waiter's claim at expiry runs this script, too.
-- KEYS semaphore, fence, wait, live
-- ARGV client, liveness ms, grant ms, limit, n, then n entries
-- returns {BUSY | FREE | MORE (call again), ms until a lease ends, now us,
--   ours, then for each entry: HELD | QUEUED | GONE, lease left, fence}
-- A retry finds the state that the first run left: a waiter with a grant is
-- HELD. A late copy extends the liveness once more.
--@include now
--@include number
--@include liveness
--@include lease_end
--@include hold_fence
--@include holder_state
--@include grant_permits
--@include entries

local key, record, wait, live = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local client, liveness, grant_ms = ARGV[1], number_at(2, 1), number_at(3, 1)
local limit = number_at(4, 1)
check_entries(5)
if misuse then
  return misuse
end

local on_record = redis.call("ZCARD", key) and redis.call("HMGET", record, "limit", "fence")
local known = on_record[1] and fence_value(on_record[2])
local now = now_us()
local ms = math.floor(now / 1000)
extend_liveness(wait, live, client, now, liveness)
local more, _, walk = grant_permits(grant_ms, limit, liveness)
local used = redis.call("ZCARD", key)

-- Without a limit on record, or without a fence that can rise, nothing can be
-- granted: the waiters are GONE, and acquire again with a limit of their own.
local function state_of(entry)
  local e = parse_entry(entry)
  local until_ms = lease_ends_at(key, e.token)
  if until_ms then
    return HELD, until_ms - ms, hold_fence(redis.call("HMGET", record, "+" .. e.token)[1])
  end
  return known and redis.call("ZSCORE", wait, entry) and QUEUED or GONE, 0, 0
end

local left, ours = holder_state(key, ms, walk)
local state = more == 1 and MORE or used > 0 and BUSY or FREE
return report_entries({ REQUEST + state, left, now, ours }, 5, state_of)
