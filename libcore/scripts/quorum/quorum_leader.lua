--@script quorum_leader keys=7 args=4
--@reply STATE i i i i i s s s i *
--@reply REFUSED i
-- SPDX-License-Identifier: MIT
-- Read what one node of a quorum has on record about the leader; an observer waits for
-- the node's next change.
-- KEYS leader, fence, wait, live, value, seen, ilk:quorum:node
-- ARGV count, entry of an observer ('' does not wait), client, liveness ms
-- returns {STATE, term, version of the value, 0 (nobody has the vote) | 1 (it is
--   granted) | 2 (and confirmed), its lease left, since ms, token, who, value,
--   candidates in the wait queue, then up to count entries in order, each followed by -1:
--   a stamp does not say how long it has waited}; the term is the last that was confirmed
--   here unless the vote is
--   | {REFUSED, as quorum_acquire}
-- A retry reads again, and a retried entry keeps its place. The entry of a late copy
-- stays until the next change.
--@include now
--@include election
--@include enqueue
--@include quorum_node

local count, entry, client, liveness = number_at(1, 0), ARGV[2], ARGV[3], number_at(4, 0)
if entry ~= "" then
  check_entry(entry, "o", client, (parse_entry(entry) or {}).token)
end
if misuse then
  return misuse
end

local now = now_us()
local refused = waits_to_join(KEYS[7], now)
if refused then
  return { REQUEST + REFUSED, refused }
end
local token = redis.call("GET", place.lock) or ""
local published = redis.call("HMGET", place.values, token == "" and " " or token, "")
local term, version, value = string.match(published[1] or "", "^(%d+) (%d+) (.*)$")
local state, left, since, who = 0, -2, 0, ""
if token ~= "" then
  local field = redis.call("HMGET", place.record, "token", "since", "who")
  local known = field[1] == token
  state, left = term and 2 or 1, redis.call("PTTL", place.lock)
  since, who = known and tonumber(field[2]) or 0, known and field[3] or ""
end
if entry ~= "" then
  enqueue(place.seen, place.live, entry, client, now, liveness)
end

local reply = { REQUEST + STATE, tonumber(term or published[2] or 0) or 0, tonumber(version or 0), state, left,
  since, token, who, value or "", redis.call("ZCARD", place.wait) }
local entries = count > 0 and redis.call("ZRANGE", place.wait, 0, count - 1) or {}
for _, text in ipairs(entries) do
  reply[#reply + 1], reply[#reply + 2] = text, -1
end
return reply
