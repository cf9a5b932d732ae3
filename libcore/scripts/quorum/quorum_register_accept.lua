--@script quorum_register_accept keys=4 args=9
--@reply WRITTEN i i
--@reply STALE i i
--@reply REFUSED
-- SPDX-License-Identifier: MIT
-- Accept a register's state under a ballot, unless a greater one was promised.
-- KEYS register, wait, live, ilk:quorum:acceptor
-- ARGV list, counter, proposer, version, 0|1 (there is a value), value, changes, limit,
--   0|1 (notify those who were left out when an earlier copy was accepted)
-- returns {WRITTEN, clients still to be notified, denied}
--   | {STALE, the ballot that is promised}
--   | {REFUSED}: the node has lost its memory
-- A retry accepts the same again. A late copy is STALE, or the state of its ballot is
-- still that of the register.
--@include replicate_effects
--@include wake_all
--@include number
--@include ballot
--@include acceptor_ready

local register, wait, live, acceptor = unpack(KEYS)
local list, counter, proposer = ARGV[1], number_at(2, 1), number_at(3, 1)
local version, has, limit, notifies = number_at(4, 0), number_at(5, 0), number_at(8, 1), number_at(9, 0)
if misuse then
  return misuse
end

if not is_ready(acceptor, list) then
  return { REQUEST + REFUSED }
end
local promised, whose_promise = read_ballots(register)
if is_greater(promised, whose_promise, counter, proposer) then
  return { REQUEST + STALE, promised, whose_promise }
end
local before = tonumber(redis.call("HGET", register, "version") or 0)
local ballot, owner = string.format("%.0f", counter), string.format("%.0f", proposer)
redis.call("HSET", register, "counter", ballot, "proposer", owner, "by", ballot, "whose", owner,
  "version", string.format("%.0f", version), "has", has == 1 and "1" or "0", "value", ARGV[6],
  "changes", ARGV[7])
local rest, denied = 0, 0
if before ~= version then
  rest, denied = wake_all(wait, live, limit)
elseif notifies == 1 then
  rest, denied = wake_clients(wait, live, limit)
end
return { REQUEST + WRITTEN, rest, denied }
