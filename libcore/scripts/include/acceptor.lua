-- SPDX-License-Identifier: MIT
-- A node as an acceptor of registers over a quorum, by CASPaxos. It keeps each register
-- as a hash
--
--   {counter, proposer}      the greatest ballot that it has promised
--   {by, whose}              the ballot under which it has accepted the rest
--   {version, has, value}    as a register's; has: 1 if there is a value
--   {changes}                the last changes, see gateway/change_history.h
--
-- and never forgets one: the hash does not expire. `ilk:quorum:acceptor` is `ready <list>`
-- as long as nothing has been forgotten, see quorum_acceptor.lua.

-- Returns the promised and the accepted ballot; 0, 0, 0, 0 where there is none.
local function read_ballots(key)
  local field = redis.call("HMGET", key, "counter", "proposer", "by", "whose")
  return tonumber(field[1] or 0), tonumber(field[2] or 0), tonumber(field[3] or 0), tonumber(field[4] or 0)
end
