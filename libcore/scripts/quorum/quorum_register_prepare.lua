--@script quorum_register_prepare keys=2 args=3
--@reply STATE i i i i s s i
--@reply STALE i i
--@reply REFUSED
-- SPDX-License-Identifier: MIT
-- Promise to accept nothing for a register under a lesser ballot, and return what was
-- accepted.
-- KEYS register, ilk:quorum:acceptor
-- ARGV list, counter, proposer
-- returns {STATE, the ballot of what is accepted (0 0: nothing), version, 1 if there is
--   a value, value, changes, now us}
--   | {STALE, the ballot that is promised already}
--   | {REFUSED}: the node has lost its memory
-- A ballot is prepared once: a retry, or a late copy, is STALE.
--@include now
--@include number
--@include ballot
--@include acceptor_ready

-- Counters rise in steps of at most this, so that a spoilt one does not use them up.
local COUNTER_STEP = 4294967296

local register, acceptor, list = KEYS[1], KEYS[2], ARGV[1]
local counter, proposer = number_at(2, 1), number_at(3, 1)
if misuse then
  return misuse
end

if not is_ready(acceptor, list) then
  return { REQUEST + REFUSED }
end
local now = now_us()
local promised, whose_promise, by, whose = read_ballots(register)
if not is_greater(counter, proposer, promised, whose_promise) then
  return { REQUEST + STALE, promised, whose_promise }
end
if counter > promised + COUNTER_STEP then
  return redis.error_reply("ILKARG a ballot's counter may not rise from " .. promised .. " to " .. counter)
end
redis.call("HSET", register, "counter", string.format("%.0f", counter), "proposer",
  string.format("%.0f", proposer))
local field = redis.call("HMGET", register, "version", "has", "value", "changes")
return { REQUEST + STATE, by, whose, tonumber(field[1] or 0), tonumber(field[2] or 0), field[3] or "",
  field[4] or "", now }
