--@script recipes_permit keys=3 args=3
--@reply HELD
--@reply BUSY
-- SPDX-License-Identifier: MIT
-- A permit of the fair semaphore: purge, count and insert in one step, by the
-- server's clock. The formats are those of the well-known function: seconds with
-- a fraction in the semaphore, the counter's value in the owners.
-- KEYS semaphore, owners, counter    ARGV identifier, limit, timeout in ms
-- returns {HELD} | {BUSY}: the limit is reached
-- A retry finds its identifier among the owners. A late copy would hold a
-- permit until its timeout.
--@include number
--@include now

local semaphore, owners, counter = KEYS[1], KEYS[2], KEYS[3]
local identifier = ARGV[1]
local limit, timeout = number_at(2, 1), number_at(3, 0)
if misuse then
  return misuse
end

redis.call("ZCARD", semaphore)
if redis.call("ZSCORE", owners, identifier) then
  return { REQUEST + HELD }
end
local turn = redis.call("INCR", counter)
local now = now_us()
local gone = string.format("%.6f", (now - timeout * 1000) / 1000000)
redis.call("ZREMRANGEBYSCORE", semaphore, "-inf", gone)
redis.call("ZINTERSTORE", owners, 2, owners, semaphore, "WEIGHTS", 1, 0)
-- After the counter was lost it begins at 1 and would rank newcomers before the
-- holders: go on from the last owner's.
local last = tonumber(redis.call("ZREVRANGE", owners, "0", "0", "WITHSCORES")[2] or 0)
if last >= turn then
  turn = last + 1
  redis.call("SET", counter, string.format("%.0f", turn))
end
if redis.call("ZCARD", owners) >= limit then
  return { REQUEST + BUSY }
end
redis.call("ZADD", semaphore, string.format("%.6f", now / 1000000), identifier)
redis.call("ZADD", owners, string.format("%.0f", turn), identifier)
return { REQUEST + HELD }
