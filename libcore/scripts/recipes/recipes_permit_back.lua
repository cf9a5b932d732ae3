--@script recipes_permit_back keys=3 args=2
--@reply RELEASED
--@reply LOST
-- SPDX-License-Identifier: MIT
-- Give a permit of the fair semaphore back.
-- KEYS semaphore, owners, once    ARGV token, identifier
-- returns {RELEASED} | {LOST}: it had run out
-- A retry finds its own answer. A late copy finds the permit gone.
--@include last_answer

local semaphore, owners, once = KEYS[1], KEYS[2], KEYS[3]
local token, identifier = ARGV[1], ARGV[2]

if answered(once, token) then
  return { REQUEST + RELEASED }
end
redis.call("ZCARD", owners)
local removed = redis.call("ZREM", semaphore, identifier)
redis.call("ZREM", owners, identifier)
if removed == 0 then
  return { REQUEST + LOST }
end
remember(once, token, "")
return { REQUEST + RELEASED }
