--@script group_read keys=6 args=4
--@reply STATE i i i i i *
-- SPDX-License-Identifier: MIT
-- Read the changes of a group after a version, at most so many at a time, and
-- remove members whose lease has ended.
-- KEYS members, data, wait, live, changed, gone
-- ARGV cursor, base (-1: all members), count, limit
-- returns {STATE, 1: these are all members and not only changes, base, reached,
--   1: ask again, n, then n ids, n values, the ids that left}
-- A retry or a late copy reads again.
--@include now
--@include group_page
--@include group_dead

local cursor, base = number_at(1, 0), number_at(2, -1)
local count, limit = number_at(3, 1), number_at(4, 1)
if misuse then
  return misuse
end

local more = remove_dead(now_us(), limit)
return read_page(REQUEST + STATE, cursor, base, count, more)
