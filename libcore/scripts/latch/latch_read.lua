--@script latch_read keys=1 args=1
--@reply STATE i i
--@reply DIFFERS i
-- SPDX-License-Identifier: MIT
-- Read a latch's number.
-- KEYS latch    ARGV initial count, 0 for whatever is on record
-- returns {STATE, left, initial} | {DIFFERS, the initial count on record}
-- Writes nothing.
--@include number
--@include latch

local count = number_at(1, 0)
if misuse then
  return misuse
end

local left, initial = read_latch(KEYS[1], count)
if count > 0 and initial ~= count then
  return { REQUEST + DIFFERS, initial }
end
return { REQUEST + STATE, left, initial }
