--@script state_inspect keys=1 args=1
--@reply STATE i *
-- SPDX-License-Identifier: MIT
-- Read a wait queue.
-- KEYS wait    ARGV count
-- returns {STATE, waiters, then up to count entries in order, each followed by the ms that
--   it has waited (-1: not known)}
-- Writes nothing, so a retry is harmless.
--@include number
--@include now
--@include waiting

local wait, count = KEYS[1], number_at(1, 0)
if misuse then
  return misuse
end

return add_waiting({ REQUEST + STATE, redis.call("ZCARD", wait) }, wait, count, now_us())
