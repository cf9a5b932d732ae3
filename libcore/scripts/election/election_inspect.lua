--@script election_inspect keys=6 args=1
--@reply STATE i i i i i s s s i *
-- SPDX-License-Identifier: MIT
-- Read the state of an election.
-- KEYS leader, fence, wait, live, value, seen    ARGV count
-- returns {STATE, term, version of the value, 1 when somebody leads, its
--   lease left, since ms, its token, who, value, candidates in the wait queue,
--   then up to count entries in order, each followed by the ms that it has waited (-1: not
--   known)}
-- Writes nothing, so a retry is harmless.
--@include number
--@include leadership
--@include now
--@include waiting

local count = number_at(1, 0)
if misuse then
  return misuse
end

local reply = { REQUEST + STATE, unpack(leadership()) }
reply[#reply + 1] = redis.call("ZCARD", place.wait)
return add_waiting(reply, place.wait, count, now_us())
