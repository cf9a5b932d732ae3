--@script election_observer_refresh keys=6 args=5+
--@reply BUSY i i i *
--@reply FREE i i i *
--@reply MORE i i i *
-- SPDX-License-Identifier: MIT
-- election_refresh for observers: an observer that is no longer in the wait
-- queue was to be woken, and is GONE, which makes it try again.
-- KEYS leader, fence, wait, live, value, seen
-- ARGV client, liveness ms, grant ms, limit, n, then n entries
-- returns {BUSY | FREE | MORE (call again), leader's pttl, now us, 1,
--   then for each entry: QUEUED | GONE, 0, 0}
-- A retry finds the state that the first run left. A late copy extends the
-- liveness once more.
--@include number
--@include liveness
--@include forget_dead
--@include elect
--@include end_leadership
--@include entries

local client, liveness, grant_ms = ARGV[1], number_at(2, 1), number_at(3, 1)
local limit = number_at(4, 1)
check_entries(5)
if misuse then
  return misuse
end

local now, leader = now_us(), redis.call("GET", place.lock)
local _, record_token = read_record(place.record)
check_types()
extend_liveness(place.seen, place.live, client, now, liveness)
forget_dead(place.seen, now)
local more = 0
if not leader then
  local elected
  more, _, elected = elect(grant_ms, limit, liveness)
  if not elected and more == 0 then
    end_leadership(record_token, limit)
  end
  leader = elected
end

local state = more == 1 and MORE or leader and BUSY or FREE
return report_entries({ REQUEST + state, redis.call("PTTL", place.lock), now, 1 }, 5, function(entry)
  return redis.call("ZSCORE", place.seen, entry) and QUEUED or GONE, 0, 0
end)
