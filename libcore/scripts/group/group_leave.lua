--@script group_leave keys=6 args=3
--@reply RELEASED i i
--@reply LOST
--@token 2
-- SPDX-License-Identifier: MIT
-- Leave a group; also after the end of the lease, if the member was not removed yet.
-- KEYS members, data, wait, live, changed, gone    ARGV id, token, limit
-- returns {RELEASED, clients still to be notified, denied} | {LOST}
-- A retry or a late copy finds no member of this token.
--@include now
--@include group_member
--@include group_remove

local id, token = member_at(1)
local limit = number_at(3, 1)
if misuse then
  return misuse
end

local _, mine = read_member(id, token)
if not mine then
  return { REQUEST + LOST }
end
check_types()
remove_members({ id }, now_us())
return { REQUEST + RELEASED, wake_all(group.wait, group.live, limit) }
