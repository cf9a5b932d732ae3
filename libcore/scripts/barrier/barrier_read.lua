--@script barrier_read keys=1 args=1
--@reply STATE i i
--@reply DIFFERS i
-- SPDX-License-Identifier: MIT
-- Count the arrivals of a barrier's open round.
-- KEYS barrier    ARGV parties, 0 for whatever is on record
-- returns {STATE, how many wait, parties}
--   | {DIFFERS, the number of parties on record}
-- Writes nothing.
--@include number

local parties = number_at(1, 0)
if misuse then
  return misuse
end

local record = redis.call("HMGET", KEYS[1], "parties", "first", "last")
local first, last = tonumber(record[2]) or 0, tonumber(record[3]) or 0
if parties > 0 and record[1] and tonumber(record[1]) ~= parties then
  return { REQUEST + DIFFERS, tonumber(record[1]) }
end
return { REQUEST + STATE, first > 0 and last - first + 1 or 0,
  tonumber(record[1]) or parties }
