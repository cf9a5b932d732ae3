-- SPDX-License-Identifier: MIT
-- Requests that were done: zset token -> a number that rises with the clock in
-- microseconds. By this a retry, whose reply was lost, is not done twice.

local ONCE_US, ONCE_MOST = 60000000, 10000

local function recall(once, token)
  return tonumber(redis.call("ZSCORE", once, token) or nil)
end

-- Tokens are kept for a minute, but at most ten thousand of them. Older ones are
-- removed a few at a time.
local function remember(once, token, number, now)
  redis.call("ZADD", once, string.format("%.0f", number), token)
  local old = redis.call("ZRANGEBYSCORE", once, "-inf",
    string.format("%.0f", now - ONCE_US), "LIMIT", 0, 16)
  if #old > 0 then
    redis.call("ZREM", once, unpack(old))
  end
  redis.call("ZREMRANGEBYRANK", once, 0, -ONCE_MOST - 1)
  redis.call("PEXPIRE", once, ONCE_US / 1000)
end
