--@script election_inspect keys=6 args=1
--@reply STATE i i i i i s s s i *
-- SPDX-License-Identifier: MIT
-- Read the state of an election.
-- KEYS leader, fence, wait, live, value, seen    ARGV count
-- returns {STATE, term, version of the value, 1 when somebody leads, its
--   lease left, since ms, its token, who, value, candidates in the wait queue,
--   then up to count entries in order}
-- Writes nothing, so a retry is harmless.
--@include number
--@include leadership

local count = number_at(1, 0)
if misuse then
  return misuse
end

local reply = { REQUEST + STATE, unpack(leadership()) }
reply[#reply + 1] = redis.call("ZCARD", place.wait)
local entries = count > 0 and redis.call("ZRANGE", place.wait, 0, count - 1) or {}
for _, entry in ipairs(entries) do
  reply[#reply + 1] = entry
end
return reply
