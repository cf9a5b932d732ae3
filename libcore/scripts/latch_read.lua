--@script latch_read keys=1 args=1
--@reply STATE i
--@reply DIFFERS i
-- SPDX-License-Identifier: MIT
-- What is left to count.
-- KEYS latch    ARGV initial count
-- returns {STATE, left} | {DIFFERS, the initial count on record}
-- Writes nothing.
--@include number
--@include latch

local count = number_at(1, 1)
if misuse then
  return misuse
end

local left, initial = read_latch(KEYS[1], count)
if initial ~= count then
  return { DIFFERS, initial }
end
return { STATE, left }
