--@script barrier_reset keys=5 args=5
--@reply STATE i i
-- SPDX-License-Identifier: MIT
-- Break the open round, if there is one, and set the number of parties.
-- KEYS barrier, arrived, wait, live, rounds
-- ARGV token of the request, parties, keep ms, who, limit
-- returns {STATE, how many waited, denied}
-- A retry or a late copy breaks nothing more: its token has a number, as if it
-- had arrived, until the numbers are forgotten (barrier.lua).
--@include replicate_effects
--@include token
--@include now
--@include barrier
--@include barrier_number

local arrived = KEYS[2]
local token, parties, keep = token_at(1), number_at(2, 1), number_at(3, 1)
local who, limit = ARGV[4], number_at(5, 1)
if misuse then
  return misuse
end

local b, now, denied = read_barrier(), now_us(), 0
if redis.call("ZSCORE", arrived, token) then
  return { REQUEST + STATE, 0, 0 }
end
local here = b.first > 0 and b.last - b.first + 1 or 0
b.parties, b.keep = parties, keep
if here > 0 then
  denied = end_round(b, "broken reset " .. who, limit)
end
redis.call("ZADD", arrived, string.format("%.0f", next_number(b, now)), token)
write_barrier(b)
return { REQUEST + STATE, here, denied }
