-- SPDX-License-Identifier: MIT
-- While readers hold, the lock key contains the marker and expires with the
-- latest of them; readers is a zset token -> end of its lease in server ms.

-- Remove readers whose lease ran out. Returns the latest end of the others, or
-- nil.
local function latest_reader(readers, now)
  redis.call("ZREMRANGEBYSCORE", readers, "-inf", math.floor(now / 1000))
  return tonumber(redis.call("ZREVRANGE", readers, "0", "0", "WITHSCORES")[2])
end

local function add_reader(readers, token, now, lease)
  redis.call("ZADD", readers, math.floor(now / 1000) + lease, token)
end

-- Returns the milliseconds that the marker will live.
local function keep_marker(lock, readers, now, latest)
  local left = latest - math.floor(now / 1000)
  redis.call("SET", lock, READERS, "PX", left)
  redis.call("PEXPIRE", readers, left)
  return left
end
