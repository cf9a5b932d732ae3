--@script semaphore_limit keys=4 args=5
--@reply WRITTEN i i i
-- SPDX-License-Identifier: MIT
-- Change the limit of a semaphore, and grant permits to waiters that fit now.
-- KEYS semaphore, fence, wait, live
-- ARGV limit, base (the caller's own limit, kept where none is on record),
--   grant ms, limit of the walk, liveness ms
-- returns {WRITTEN, the limit before (0: none), more, denied}
-- A retry writes the same again. A late copy would undo a change that came in
-- between.
--@include number
--@include keep_record
--@include grant_permits

local key, record, wait = KEYS[1], KEYS[2], KEYS[3]
local most, base = number_at(1, 1), number_at(2, 1)
local grant_ms, limit, liveness = number_at(3, 1), number_at(4, 1), number_at(5, 1)
if misuse then
  return misuse
end

redis.call("ZCARD", key)
local before = redis.call("HMGET", record, "limit", "base")
local was, more, denied = tonumber(before[1]) or 0, 0, 0
redis.call("HSET", record, "limit", most, "base", was > 0 and before[2] or base)
if redis.call("PTTL", record) < 0 then
  keep_record(record, 0)
end
if redis.call("EXISTS", wait) == 1 then
  more, denied = grant_permits(grant_ms, limit, liveness)
end
return { REQUEST + WRITTEN, was, more, denied }
