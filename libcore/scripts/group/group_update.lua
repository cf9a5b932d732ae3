--@script group_update keys=6 args=4
--@reply WRITTEN i i
--@reply LOST
--@token 2
-- SPDX-License-Identifier: MIT
-- Give a member other data.
-- KEYS members, data, wait, live, changed, gone    ARGV id, token, data, limit
-- returns {WRITTEN, clients still to be notified, denied} | {LOST}
-- A retry finds the data written and notifies those who are left. A late copy
-- writes the older data again, until the next update.
--@include now
--@include group_member
--@include group_write

local id, token = member_at(1)
local data, limit = data_at(3), number_at(4, 1)
if misuse then
  return misuse
end

local now = now_us()
local ends, mine, was = read_member(id, token)
if ends <= math.floor(now / 1000) or not mine then
  return { REQUEST + LOST }
end
local value = "1 " .. token .. " " .. data
if was == value then
  return { REQUEST + WRITTEN, wake_clients(group.wait, group.live, limit) }
end
check_types()
write_member(id, value, now, 0)
return { REQUEST + WRITTEN, wake_all(group.wait, group.live, limit) }
