-- SPDX-License-Identifier: MIT
-- While readers hold, the lock key contains the marker and expires with the
-- latest of them; readers is a zset token -> end of its lease in server ms. The record has
-- a field `+<token>` for each (hold_field.lua), which only an inspection reads; readers
-- lives as long as the record, so that the fields of dead ones can be found.
--@include kept_ms

-- Remove readers whose lease ran out. Returns the latest end of the others, or
-- nil.
local function latest_reader(readers, record, now)
  local ms = math.floor(now / 1000)
  local first = tonumber(redis.call("ZRANGE", readers, "0", "0", "WITHSCORES")[2])
  if first and first <= ms then
    local ends = redis.call("ZRANGE", readers, 0, 1023, "WITHSCORES")
    for i = 1, #ends, 2 do
      if tonumber(ends[i + 1]) <= ms then
        redis.call("HDEL", record, "+" .. ends[i])
      end
    end
  end
  redis.call("ZREMRANGEBYSCORE", readers, "-inf", ms)
  return tonumber(redis.call("ZREVRANGE", readers, "0", "0", "WITHSCORES")[2])
end

local function add_reader(readers, token, now, lease)
  redis.call("ZADD", readers, math.floor(now / 1000) + lease, token)
end

-- Returns the milliseconds that the marker will live.
local function keep_marker(lock, readers, now, latest)
  local left = latest - math.floor(now / 1000)
  redis.call("SET", lock, READERS, "PX", left)
  redis.call("PEXPIRE", readers, left + KEPT_MS)
  return left
end
