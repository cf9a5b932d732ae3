--@script group_join keys=6 args=5
--@reply HELD i i i
--@reply BUSY i
--@reply REFUSED
--@token 2
-- SPDX-License-Identifier: MIT
-- Join a group.
-- KEYS members, data, wait, live, changed, gone
-- ARGV id, token, data, lease ms, limit
-- returns {HELD, lease, clients still to be notified, 0} | {BUSY, ms left of the
--   lease of the member with this id; -1: another store, which does not return it} |
--   {REFUSED} (nobody joined: this user may not PUBLISH to those who watch)
-- A retry under the same token finds its member, which gets a fresh lease. A late copy
-- joins again, until its lease ends.
--@include now
--@include group_member
--@include group_write
--@include group_remove

local id, token = member_at(1)
local data, lease, limit = data_at(3), number_at(4, 1), number_at(5, 1)
if misuse then
  return misuse
end

local now = now_us()
local ms = math.floor(now / 1000)
local ends, mine, was = read_member(id, token)
local value = "1 " .. token .. " " .. data
if ends > ms and not mine then
  return { REQUEST + BUSY, ends - ms }
end
check_types()
redis.call("ZADD", group.members, ms + lease, id)
if was == value then
  keep_group(lease)
else
  write_member(id, value, now, lease)
end
local rest, denied = wake_all(group.wait, group.live, limit)
if denied == 1 then
  remove_members({ id }, now)
  return { REQUEST + REFUSED }
end
return { REQUEST + HELD, lease, rest, 0 }
