--@script recipes_single keys=1 args=5
--@reply WRITTEN i
-- SPDX-License-Identifier: MIT
-- Signal one of those who wait on the prefix and an id of their own.
-- KEYS once    ARGV token, prefix, a random number, how many to look at, data
-- returns {WRITTEN, how many heard it}: 0 when nobody waits
-- The prefix is taken literally. A channel that several listen to, because
-- they share an id, comes last: one of many would be all of them.
-- A retry finds its own answer and signals nobody.
--@include reply
--@include number
--@include once

local once = KEYS[1]
local token, prefix = ARGV[1], ARGV[2]
local random, limit, data = number_at(3, 0), number_at(4, 1), ARGV[5]
if misuse then
  return misuse
end

local done = answered(once, token)
if done then
  return { WRITTEN, tonumber(done) }
end
local literal = prefix:gsub("[%*%?%[%]%^\\]", "\\%0")
local channels = redis.call("PUBSUB", "CHANNELS", literal .. "*")
if #channels == 0 then
  return { WRITTEN, 0 }
end
local chosen = channels[random % #channels + 1]
for step = 0, math.min(limit, #channels) - 1 do
  local channel = channels[(random + step) % #channels + 1]
  if redis.call("PUBSUB", "NUMSUB", channel)[2] == 1 then
    chosen = channel
    break
  end
end
local heard = redis.call("PUBLISH", chosen, data)
remember(once, token, heard)
return { WRITTEN, heard }
