--@script recipes_single keys=2 args=5
--@reply WRITTEN i
-- SPDX-License-Identifier: MIT
-- Signal one of the waiters that subscribe to the prefix and an id of their own.
-- KEYS once, signalled (zset: channel -> server ms when its waiter was signalled)
-- ARGV token, prefix, a random number, how many to look at, data
-- returns {WRITTEN, number of receivers}: 0 when nobody waits
-- The prefix is taken literally. A waiter of this library has a second channel,
-- by which it is recognised. It stays subscribed for a moment after its message,
-- so `signalled` keeps it from a second one until recipes_listen removes it. A channel
-- with several subscribers, which share an id, is the last choice.
-- A retry finds its own answer and signals nobody. A late copy, after the
-- thread's next request or a minute, would signal another waiter.
--@include number
--@include last_answer
--@include now

local once, signalled = KEYS[1], KEYS[2]
local token, prefix = ARGV[1], ARGV[2]
local random, limit, data = number_at(3, 0), number_at(4, 1), ARGV[5]
local FORGET_MS = 60000
if misuse then
  return misuse
end

local done = answered(once, token)
if done then
  return { REQUEST + WRITTEN, tonumber(done) }
end
local literal = prefix:gsub("[%*%?%[%]%^\\]", "\\%0")
local channels = redis.call("PUBSUB", "CHANNELS", literal .. "*")
local chosen, is_ours
for step = 0, math.min(limit, #channels) - 1 do
  local channel = channels[(random + step) % #channels + 1]
  local receivers = redis.call("PUBSUB", "NUMSUB", channel, "ilk:recipes:one:" .. channel)
  local waits = receivers[4] == 0 or not redis.call("ZSCORE", signalled, channel)
  if waits and (receivers[2] == 1 or not chosen) then
    chosen, is_ours = channel, receivers[4] > 0
  end
  if waits and receivers[2] == 1 then
    break
  end
end
if not chosen then
  return { REQUEST + WRITTEN, 0 }
end
local receivers = redis.call("PUBLISH", chosen, data)
if is_ours then
  local now = math.floor(now_us() / 1000)
  redis.pcall("ZREMRANGEBYSCORE", signalled, "-inf", now - FORGET_MS)
  redis.pcall("ZADD", signalled, now, chosen)
  redis.pcall("PEXPIRE", signalled, FORGET_MS)
end
remember(once, token, receivers)
return { REQUEST + WRITTEN, receivers }
