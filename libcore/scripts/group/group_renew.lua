--@script group_renew keys=6 args=4
--@reply HELD i i i
--@reply LOST
--@token 2
-- SPDX-License-Identifier: MIT
-- Give a member a fresh lease.
-- KEYS members, data, wait, live, changed, gone
-- ARGV id, token, lease ms, renewal 0|1
-- returns {HELD, lease, 0, now us} | {LOST}
-- A retry sets the same lease again. A renewal that is executed late never
-- shortens.
--@include now
--@include group_member
--@include group_keep

local id, token = member_at(1)
local lease, renews = number_at(3, 1), number_at(4, 0) == 1
if misuse then
  return misuse
end

local now = now_us()
local ms = math.floor(now / 1000)
local ends, mine = read_member(id, token)
if ends <= ms or not mine then
  return { REQUEST + LOST }
end
if renews then
  lease = math.max(lease, ends - ms)
end
-- A server out of memory checks only a script's first write. This one removes nothing, and
-- needs no memory.
redis.call("ZREMRANGEBYRANK", group.members, 1, 0)
redis.call("ZADD", group.members, "XX", ms + lease, id)
if redis.call("PTTL", group.data) < lease + KEEP_MS / 2 then
  keep_group(lease)
end
return { REQUEST + HELD, lease, 0, now }
