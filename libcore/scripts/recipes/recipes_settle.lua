--@script recipes_settle keys=4 args=3
--@reply RELEASED
--@reply LOST
-- SPDX-License-Identifier: MIT
-- End the delivery of a parked message: done, given back, or dead.
-- KEYS queue, this consumer's parked, dead messages, once
-- ARGV token, what to do (done, back or dead), the message
-- returns {RELEASED} | {LOST}: other consumers considered this one dead and have
-- recovered the message
-- A retry finds its own answer. A late copy finds the message gone, unless an
-- equal one is parked then.
--@include last_answer

local queue, parked, dead, once = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local token, outcome, value = ARGV[1], ARGV[2], ARGV[3]
local KEEP_DEAD = 1000

if answered(once, token) then
  return { REQUEST + RELEASED }
end
redis.call("LLEN", queue)
redis.call("LLEN", dead)
if redis.call("LINDEX", parked, "0") ~= value then
  return { REQUEST + LOST }
end
if outcome == "done" then
  redis.call("LPOP", parked)
elseif outcome == "back" then
  redis.call("LMOVE", parked, queue, "LEFT", "LEFT")
elseif outcome == "dead" then
  redis.call("LMOVE", parked, dead, "LEFT", "RIGHT")
  redis.call("LTRIM", dead, -KEEP_DEAD, -1)
else
  return redis.error_reply("ILKARG argument 2 must be done, back or dead, got '" .. outcome .. "'")
end
remember(once, token, "")
return { REQUEST + RELEASED }
