--@script election_refresh keys=6 args=5+
--@reply BUSY i i i *
--@reply FREE i i i *
--@reply MORE i i i *
-- SPDX-License-Identifier: MIT
-- Extend a client's liveness, elect the next when nobody leads, and return the
-- state of each of the client's candidates. A claim at expiry runs this script, too.
-- KEYS leader, fence, wait, live, value, seen
-- ARGV client, liveness ms, grant ms, limit, n, then n entries
-- returns {BUSY | FREE | MORE (call again), leader's pttl, now us, ours,
--   then for each entry: HELD | QUEUED | GONE, lease left, term}
-- A retry finds the state that the first run left: an elected candidate is
-- HELD. A late copy extends the liveness once more.
--@include number
--@include liveness
--@include forget_dead
--@include elect
--@include end_leadership
--@include is_ours
--@include entries

local client, liveness, grant_ms = ARGV[1], number_at(2, 1), number_at(3, 1)
local limit = number_at(4, 1)
check_entries(5)
if misuse then
  return misuse
end

local now, leader = now_us(), redis.call("GET", place.lock)
local term, record_token = read_record(place.record)
check_types()
extend_liveness(place.wait, place.live, client, now, liveness)
forget_dead(place.wait, now)
local more = 0
if not leader then
  local _, elected
  more, _, elected = elect(grant_ms, limit, liveness)
  if not elected and more == 0 then
    end_leadership(record_token, limit)
  end
  leader = redis.call("GET", place.lock)
  term, record_token = read_record(place.record)
end

local left = redis.call("PTTL", place.lock)
-- Without a fence that can rise nothing can be granted: the waiters are GONE, and
-- get the error when they campaign again.
local function state_of(entry)
  local e = parse_entry(entry)
  if leader == e.token then
    return HELD, left, record_token == e.token and term or 0
  end
  return term and redis.call("ZSCORE", place.wait, entry) and QUEUED or GONE, 0, 0
end

local state = more == 1 and MORE or leader and BUSY or FREE
return report_entries({ REQUEST + state, left, now, is_ours(leader, record_token) }, 5, state_of)
