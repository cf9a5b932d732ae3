--@script recipes_unpark keys=3 args=2
--@reply RELEASED
--@reply LOST
-- SPDX-License-Identifier: MIT
-- Remove a value from the cache after it was handled: one copy, no other.
-- KEYS cache, parked, once    ARGV token of this request, token of the value
-- returns {RELEASED} | {LOST}: it went back to its queue meanwhile
-- A retry finds its own answer. A late copy finds the value's token gone.
--@include last_answer

local cache, parked, once = KEYS[1], KEYS[2], KEYS[3]
local token, mine = ARGV[1], ARGV[2]

if answered(once, token) then
  return { REQUEST + RELEASED }
end
local value = redis.call("HGET", parked, mine)
if not value then
  return { REQUEST + LOST }
end
local removed = redis.call("LREM", cache, "1", value)
redis.call("HDEL", parked, mine)
if removed == 0 then
  return { REQUEST + LOST }
end
remember(once, token, "")
return { REQUEST + RELEASED }
