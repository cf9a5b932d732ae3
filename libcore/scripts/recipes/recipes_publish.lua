--@script recipes_publish keys=1 args=3
--@reply WRITTEN i
-- SPDX-License-Identifier: MIT
-- Signal all who listen to a channel.
-- KEYS once    ARGV token, channel, data
-- returns {WRITTEN, how many heard it}
-- A retry finds its own answer and signals nobody.
--@include reply
--@include last_answer

local once = KEYS[1]
local token, channel, data = ARGV[1], ARGV[2], ARGV[3]

local done = answered(once, token)
if done then
  return { WRITTEN, tonumber(done) }
end
local heard = redis.call("PUBLISH", channel, data)
remember(once, token, heard)
return { WRITTEN, heard }
