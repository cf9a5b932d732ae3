--@script election_observe keys=6 args=6
--@reply STATE i i i i i s s s
--@reply QUEUED i i i
--@reply BUSY i i i
-- SPDX-License-Identifier: MIT
-- Return the state if the observer does not have it yet, else let the observer wait.
-- KEYS leader, fence, wait, live, value, seen
-- ARGV known (the state that it has: `term version`, or `term -` for a term
--   whose leader is gone; '' none), vacant 0|1 (return also when nobody leads),
--   entry ('' does not wait), client, liveness ms, - (ignored)
-- returns {STATE, as election_inspect up to the value}
--   | {QUEUED | BUSY, leader's pttl, now us, 1}: nothing new; a term below the
--   known one is not new, because the server has lost a later record
-- A retry reads again, and a retried entry keeps its place. The entry of a late
-- copy stays until the next change.
--@include now
--@include enqueue
--@include leadership

local known, vacant, entry, client = ARGV[1], ARGV[2] == "1", ARGV[3], ARGV[4]
local liveness = number_at(5, 1)
if entry ~= "" then
  check_entry(entry, "o", client, (parse_entry(entry) or {}).token)
end
if misuse then
  return misuse
end

local state = leadership()
local term, leads = state[1], state[3] == 1
local known_term, known_version = string.match(known, "^(%d+) (%S+)$")
known_term = tonumber(known_term or 0)
local new = vacant and known_version ~= "-"
if leads then
  new = term > known_term or term == known_term and string.format("%.0f", state[2]) ~= known_version
end
if new then
  redis.call("ZREM", place.seen, entry)
  return { REQUEST + STATE, unpack(state) }
end
local now = now_us()
if entry ~= "" then
  enqueue(place.seen, place.live, entry, client, now, liveness)
end
return { REQUEST + (entry == "" and BUSY or QUEUED), redis.call("PTTL", place.lock), now, 1 }
