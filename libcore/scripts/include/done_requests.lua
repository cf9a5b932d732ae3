-- SPDX-License-Identifier: MIT
-- Requests that were done: zset token -> a number that rises with the clock in
-- microseconds. By this a retry, whose reply was lost, is not done twice.

local ONCE_US, ONCE_MOST = 60000000, 10000

local function recall(once, token)
  return tonumber(redis.call("ZSCORE", once, token) or nil)
end

-- Tokens are kept for a minute, but about ten thousand of them at most. Every
-- sixteenth number removes those that are older or too many.
local function remember(once, token, number, now)
  redis.call("ZADD", once, number, token)
  redis.call("PEXPIRE", once, "60000")
  if number % 16 ~= 0 then
    return
  end
  local old = redis.call("ZRANGEBYSCORE", once, "-inf", now - ONCE_US, "LIMIT", "0", "256")
  if #old > 0 then
    redis.call("ZREM", once, unpack(old))
  end
  redis.call("ZREMRANGEBYRANK", once, "0", -ONCE_MOST - 1)
end
