--@script queue_purge keys=9 args=1
--@reply WRITTEN i
-- SPDX-License-Identifier: MIT
-- Remove messages. A queue without messages and consumers is removed as well.
-- KEYS meta, ready, wait, live, delayed, leases, flight, dead, died
-- ARGV sum of 1 (ready), 2 (delayed), 4 (dead)
-- returns {WRITTEN, how many}
-- A retry or a late copy removes messages that have come since.
--@include replicate_effects
--@include number
--@include count_up

local which = number_at(1, 1)
if misuse then
  return misuse
end
local ready, delayed, dead = redis.call("LLEN", KEYS[READY]), redis.call("ZCARD", KEYS[DELAYED]),
  redis.call("HLEN", KEYS[DEAD])
local gone = 0
if which % 2 >= 1 then
  gone = gone + ready
  redis.call("UNLINK", KEYS[READY])
end
if which % 4 >= 2 then
  gone = gone + delayed
  redis.call("UNLINK", KEYS[DELAYED])
end
if which >= 4 then
  gone = gone + dead
  redis.call("UNLINK", KEYS[DEAD], KEYS[DIED])
end
count_up(0, "purged", gone)
if gone == ready + delayed + dead and redis.call("EXISTS", KEYS[FLIGHT], KEYS[WAIT]) == 0 then
  redis.call("DEL", KEYS[META])
end
return { REQUEST + WRITTEN, gone }
