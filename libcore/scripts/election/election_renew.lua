--@script election_renew keys=3 args=3
--@reply HELD i i i
--@reply LOST i i s
-- SPDX-License-Identifier: MIT
-- Give the leader a fresh lease.
-- KEYS leader, fence, value    ARGV token, lease ms, renewal 0|1
-- returns {HELD, lease, term (0: none on record), now us} | {LOST, born, broken, by}: see
--   include/evidence.lua
-- A retry sets the same lease again. A renewal that is executed late never
-- shortens; a late extend is cut off with its connection.
--@include now
--@include token
--@include record

local leader, record, values = KEYS[1], KEYS[2], KEYS[3]
local token, lease = token_at(1), number_at(2, 1)
local renews = number_at(3, 0) == 1
if misuse then
  return misuse
end

if redis.call("GET", leader) ~= token then
  --@include evidence
  return lost(record, token)
end
local term, record_token = read_record(record)
if renews then
  lease = math.max(lease, redis.call("PTTL", leader))
end
redis.call("PEXPIRE", leader, lease)
keep_record(record, lease)
keep_record(values, lease)
return { REQUEST + HELD, lease, record_token == token and term or 0, now_us() }
