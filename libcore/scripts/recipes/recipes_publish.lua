--@script recipes_publish keys=1 args=3
--@reply WRITTEN i
-- SPDX-License-Identifier: MIT
-- Publish to all subscribers of a channel.
-- KEYS once    ARGV token, channel, data
-- returns {WRITTEN, number of receivers}
-- A retry finds its own answer and publishes nothing. A late copy, after the
-- thread's next request or a minute, would publish again.
--@include last_answer

local once = KEYS[1]
local token, channel, data = ARGV[1], ARGV[2], ARGV[3]

local done = answered(once, token)
if done then
  return { REQUEST + WRITTEN, tonumber(done) }
end
local receivers = redis.call("PUBLISH", channel, data)
remember(once, token, receivers)
return { REQUEST + WRITTEN, receivers }
