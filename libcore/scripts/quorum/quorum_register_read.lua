--@script quorum_register_read keys=4 args=5
--@reply STATE i i i i s
--@reply REFUSED
-- SPDX-License-Identifier: MIT
-- Read what one node of a quorum has accepted for a register; a waiter waits for the
-- node's next change.
-- KEYS register, wait, live, ilk:quorum:acceptor
-- ARGV list, entry of a waiter ('' does not wait), client, liveness ms, the version that
--   the waiter knows
-- returns {STATE, ballot: counter, proposer; version, 1 if there is a value, value}
--   | {REFUSED}: the node has lost its memory
-- A retry reads again, and a retried entry keeps its place. The entry of a late copy
-- stays until the next change.
--@include now
--@include enqueue
--@include number
--@include acceptor
--@include acceptor_ready

local register, wait, live, acceptor = unpack(KEYS)
local list, entry, client, liveness = ARGV[1], ARGV[2], ARGV[3], number_at(4, 0)
local known = number_at(5, 0)
if entry ~= "" then
  check_entry(entry, "o", client, (parse_entry(entry) or {}).token)
end
if misuse then
  return misuse
end

if not is_ready(acceptor, list) then
  return { REQUEST + REFUSED }
end
local _, _, by, whose = read_ballots(register)
local field = redis.call("HMGET", register, "version", "has", "value")
local version = tonumber(field[1] or 0)
if entry ~= "" and version <= known then
  enqueue(wait, live, entry, client, now_us(), liveness)
end
return { REQUEST + STATE, by, whose, version, tonumber(field[2] or 0), field[3] or "" }
