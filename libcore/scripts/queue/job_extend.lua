--@script job_extend keys=1 args=3
--@reply HELD i i i
--@reply LOST
-- SPDX-License-Identifier: MIT
-- Set the lease of a reservation; also of one that ran out, if none of its messages was
-- returned yet. Where some were, its end on record is 0, see due.lua.
-- KEYS leases
-- ARGV token, lease ms, renewal 0|1
-- returns {HELD, lease, 0, now us} | {LOST}
-- A retry sets the same lease again. A renewal that is executed late never
-- shortens; a late extend is cut off with its connection.
--@include now
--@include token
--@include lease_score

local token, lease = token_at(1), number_at(2, 1)
local renews = number_at(3, 0) == 1
if misuse then
  return misuse
end
local until_ms, count = lease_until(tonumber(redis.call("ZSCORE", KEYS[1], token) or 0))
if until_ms == 0 then
  return { REQUEST + LOST }
end
local now = now_us()
if renews then
  lease = math.max(lease, until_ms - math.floor(now / 1000))
end
-- A server out of memory checks only a script's first write. This one removes nothing, and
-- needs no memory.
redis.call("ZREMRANGEBYRANK", KEYS[1], 1, 0)
redis.call("ZADD", KEYS[1], "XX", lease_score(math.floor(now / 1000) + lease, count), token)
return { REQUEST + HELD, lease, 0, now }
