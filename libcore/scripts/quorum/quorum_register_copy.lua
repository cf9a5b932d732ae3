--@script quorum_register_copy keys=2 args=1
--@reply STATE i i i i i i s s
--@reply REFUSED
-- SPDX-License-Identifier: MIT
-- Return all that a node has on record of a register, for a node that returns.
-- KEYS register, ilk:quorum:acceptor
-- ARGV list
-- returns {STATE, the promised ballot, the accepted ballot, version, 1 if there is a
--   value, value, changes}
--   | {REFUSED}: the node has lost its memory, or has another list
-- A retry or a late copy reads again.
--@include acceptor
--@include acceptor_ready

local register, acceptor, list = KEYS[1], KEYS[2], ARGV[1]
if not is_ready(acceptor, list) then
  return { REQUEST + REFUSED }
end
local promised, whose_promise, by, whose = read_ballots(register)
local field = redis.call("HMGET", register, "version", "has", "value", "changes")
return { REQUEST + STATE, promised, whose_promise, by, whose, tonumber(field[1] or 0), tonumber(field[2] or 0),
  field[3] or "", field[4] or "" }
