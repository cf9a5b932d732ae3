--@script quorum_register_return keys=3 args=10
--@reply WRITTEN
--@reply REFUSED
-- SPDX-License-Identifier: MIT
-- Give a node that returns what another one has of a register. It keeps the greatest
-- promise, and the state that was accepted under the greatest ballot.
-- KEYS register, ilk:quorum:node, ilk:quorum:acceptor
-- ARGV nonce, list, the promised ballot: counter, proposer; the accepted ballot: the
--   same; version, 0|1 (there is a value), value, changes
-- returns {WRITTEN} | {REFUSED}: the node has lost its memory again, or does not return
--   with this list
-- A retry or a late copy finds ballots that are as great.
--@include replicate_effects
--@include number
--@include ballot

local register, node, acceptor = unpack(KEYS)
local nonce, list = ARGV[1], ARGV[2]
local counter, proposer, by, whose = number_at(3, 0), number_at(4, 0), number_at(5, 0), number_at(6, 0)
local version, has = number_at(7, 0), number_at(8, 0)
if misuse then
  return misuse
end

if redis.call("HGET", node, "nonce") ~= nonce or redis.call("GET", acceptor) ~= "returns " .. list then
  return { REQUEST + REFUSED }
end
local promised, whose_promise, last, whose_last = read_ballots(register)
if is_greater(counter, proposer, promised, whose_promise) then
  redis.call("HSET", register, "counter", string.format("%.0f", counter), "proposer",
    string.format("%.0f", proposer))
end
if is_greater(by, whose, last, whose_last) then
  redis.call("HSET", register, "by", string.format("%.0f", by), "whose", string.format("%.0f", whose),
    "version", string.format("%.0f", version), "has", has == 1 and "1" or "0", "value", ARGV[9],
    "changes", ARGV[10])
end
return { REQUEST + WRITTEN }
