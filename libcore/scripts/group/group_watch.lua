--@script group_watch keys=6 args=9
--@reply STATE i i i i i *
--@reply QUEUED i i i
--@reply BUSY i i i
-- SPDX-License-Identifier: MIT
-- Wait until a group has changed after a version, and read the changes as
-- group_read does.
-- KEYS members, data, wait, live, changed, gone
-- ARGV entry ('': do not wait), client, liveness ms, limit (keeps its place),
--   token, cursor, base (-1: all members), count, limit of messages
-- returns {STATE, ...} as group_read | {QUEUED or BUSY, ms until the next lease
--   ends (-1: none), now us, 1}
-- A retry keeps its place, or finds the changes. The entry of a late copy stays
-- until the next change.
--@include now
--@include enqueue
--@include token
--@include group_page
--@include group_dead

local entry, client, liveness = ARGV[1], ARGV[2], number_at(3, 1)
local token, cursor, base = token_at(5), number_at(6, 0), number_at(7, -1)
local count, limit = number_at(8, 1), number_at(9, 1)
if entry ~= "" then
  check_entry(entry, "o", client, token)
end
if misuse then
  return misuse
end

local now = now_us()
local more = remove_dead(now, limit)
local version, floor = read_version()
if more or base < floor or base ~= version or cursor ~= version then
  if entry ~= "" then
    redis.call("ZREM", group.wait, entry)
  end
  return read_page(REQUEST + STATE, cursor, base, count, more)
end
local soonest = redis.call("ZRANGE", group.members, 0, 0, "WITHSCORES")[2]
local left = soonest and soonest - math.floor(now / 1000) or -1
if entry == "" then
  return { REQUEST + BUSY, left, now, 1 }
end
enqueue(group.wait, group.live, entry, client, now, liveness)
return { REQUEST + QUEUED, left, now, 1 }
