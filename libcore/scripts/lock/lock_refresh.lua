--@script lock_refresh keys=5 args=5+
--@reply BUSY i i i *
--@reply FREE i i i *
--@reply MORE i i i *
-- SPDX-License-Identifier: MIT
-- Extend a client's liveness, grant a free lock to the next, and return the
-- state of each of the client's waiters. A waiter's claim at expiry runs this script, too.
-- KEYS lock, fence, wait, live, readers
-- ARGV client, liveness ms, grant ms, limit, n, then n entries
-- returns {BUSY | FREE | MORE (call again), holder's pttl, now us, ours,
--   then for each entry: HELD | QUEUED | GONE, lease left, fence}
-- A retry finds the state that the first run left: a waiter with a grant is
-- HELD. A late copy extends the liveness once more.
--@include now
--@include number
--@include liveness
--@include grant
--@include is_ours
--@include entries
--@include note_poller

local lock, record, wait, live, readers = unpack(KEYS)
local client, liveness, grant_ms = ARGV[1], number_at(2, 1), number_at(3, 1)
local limit = number_at(4, 1)
check_entries(5)
if misuse then
  return misuse
end

local now, value = now_us(), redis.call("GET", lock)
extend_liveness(wait, live, client, now, liveness)
if value == READERS and not latest_reader(readers, record, now) then
  redis.call("DEL", lock)
  value = false
end
local more, kept = 0, nil
if not value or value == READERS then
  local _
  more, _, _, _, _, kept = grant(1, grant_ms, limit, liveness, value and "join" or nil)
  value = redis.call("GET", lock)
end

local fence, record_token = read_record(record)
local left, ours = redis.call("PTTL", lock), is_ours(value, record_token)
if kept then
  left, ours = kept, 1
elseif value and ours == 0 then
  ours = look_again(wait, client, note_poller(record, value, math.floor(now / 1000)))
end
-- Without a fence that can rise nothing can be granted: the waiters are GONE, and
-- get the error when they acquire again.
local function state_of(entry)
  local e = parse_entry(entry)
  local reads = e.kind == "r" and value == READERS and redis.call("ZSCORE", readers, e.token)
  if reads then
    return HELD, reads - math.floor(now / 1000), fence or 0
  elseif value == e.token then
    return HELD, left, record_token == e.token and fence or 0
  end
  return fence and redis.call("ZSCORE", wait, entry) and QUEUED or GONE, 0, 0
end

local state = more == 1 and MORE or (value or kept) and BUSY or FREE
return report_entries({ REQUEST + state, left, now, ours }, 5, state_of)
