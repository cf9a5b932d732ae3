--@script rwlock_extend keys=3 args=3
--@reply HELD i i i
--@reply LOST i i s
-- SPDX-License-Identifier: MIT
-- Give a reader a fresh lease.
-- KEYS lock, fence, readers    ARGV token, lease ms, renewal 0|1
-- returns {HELD, lease, fence, now us} | {LOST, born, broken, by}: see
--   include/evidence.lua
-- A retry sets the same lease again. A renewal that is executed late never
-- shortens; a late extend is cut off with its connection.
--@include now
--@include token
--@include record
--@include readers

local lock, record, readers = KEYS[1], KEYS[2], KEYS[3]
local token, lease = token_at(1), number_at(2, 1)
local renews = number_at(3, 0) == 1
if misuse then
  return misuse
end

local now = now_us()
local until_ms = redis.call("GET", lock) == READERS and redis.call("ZSCORE", readers, token)
if not until_ms or tonumber(until_ms) <= math.floor(now / 1000) then
  --@include evidence
  return lost(record, token)
end
if renews then
  lease = math.max(lease, until_ms - math.floor(now / 1000))
end
local fence = read_record(record)
-- Removing comes first: a server out of memory checks only a script's first write, and
-- allows one that needs no memory.
latest_reader(readers, record, now)
add_reader(readers, token, now, lease)
local left = keep_marker(lock, readers, now, latest_reader(readers, record, now))
keep_record(record, left)
return { REQUEST + HELD, lease, fence or 0, now }
