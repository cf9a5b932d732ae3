--@script recipes_restore keys=3 args=1
--@reply RELEASED i
--@reply MORE i
-- SPDX-License-Identifier: MIT
-- Return the values in the cache of a consumer that died to the queue, as the
-- next to be taken, in the old order. All tokens become invalid.
-- KEYS queue, cache, parked    ARGV how many to move at most
-- returns {RELEASED, moved} | {MORE, moved}: there are more to move
-- A retry moves the rest; only the number may then be too small. A late copy
-- would also return values that were parked since.
--@include number

local queue, cache, parked = KEYS[1], KEYS[2], KEYS[3]
local limit = number_at(1, 1)
if misuse then
  return misuse
end

redis.call("LLEN", queue)
local moved = math.min(redis.call("LLEN", cache), limit)
redis.call("DEL", parked)
for _ = 1, moved do
  redis.call("LMOVE", cache, queue, "LEFT", "RIGHT")
end
if redis.call("EXISTS", cache) == 1 then
  return { REQUEST + MORE, moved }
end
return { REQUEST + RELEASED, moved }
