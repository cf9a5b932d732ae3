--@script redisson_extend keys=2 args=3
--@reply HELD i i i
--@reply LOST i i s
-- SPDX-License-Identifier: MIT
-- Give the holder of a lock in Redisson's layout a fresh lease.
-- KEYS lock, fence    ARGV owner, lease ms, renewal 0|1
-- returns {HELD, lease, fence (0: none on record), now us} | {LOST, born, broken, by}: see
--   include/evidence.lua
-- A retry sets the same lease again. A renewal that is executed late never
-- shortens; a late extend is cut off with its connection.
--@include now
--@include token
--@include record

local lock, record = KEYS[1], KEYS[2]
local owner, lease = token_at(1), number_at(2, 1)
local renews = number_at(3, 0) == 1
if misuse then
  return misuse
end

if redis.call("HEXISTS", lock, owner) == 0 then
  --@include evidence
  return lost(record, owner)
end
local fence, record_token = read_record(record)
if renews then
  lease = math.max(lease, redis.call("PTTL", lock))
end
redis.call("PEXPIRE", lock, lease)
keep_record(record, lease)
return { REQUEST + HELD, lease, record_token == owner and fence or 0, now_us() }
