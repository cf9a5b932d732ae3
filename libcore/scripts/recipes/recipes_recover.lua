--@script recipes_recover keys=3 args=3
--@reply RELEASED i
--@reply MORE i
--@reply BUSY
-- SPDX-License-Identifier: MIT
-- Return a consumer's parked messages to their queue, as the next to be taken,
-- in the old order: the consumer died, or it leaves.
-- KEYS queue, that consumer's parked, consumers
-- ARGV that consumer, how many to move at most, 1 when it leaves by itself
-- returns {RELEASED, moved} | {MORE, moved} | {BUSY}: it is alive after all
-- A retry or a late copy moves the messages that are left, if any.
--@include number
--@include now
--@include consumer_gone

local queue, parked, consumers = KEYS[1], KEYS[2], KEYS[3]
local id, limit, leaves = ARGV[1], number_at(2, 1), number_at(3, 0)
if misuse then
  return misuse
end

redis.call("LLEN", queue)
local count = redis.call("LLEN", parked)
if leaves == 0 and not is_consumer_gone(consumers, id, math.floor(now_us() / 1000)) then
  return { REQUEST + BUSY }
end
local moved = math.min(count, limit)
for _ = 1, moved do
  redis.call("LMOVE", parked, queue, "RIGHT", "LEFT")
end
if moved < count then
  return { REQUEST + MORE, moved }
end
redis.call("ZREM", consumers, id)
return { REQUEST + RELEASED, moved }
