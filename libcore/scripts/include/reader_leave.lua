-- SPDX-License-Identifier: MIT
-- Removing a reader; after the last one the lock is granted to the next.
--@include grant

-- Returns whether it held, and more and denied of the hand-over.
local function reader_leave(token, grant_ms, limit, liveness)
  local lock, record, readers, now = KEYS[1], KEYS[2], KEYS[5], now_us()
  local until_ms = redis.call("ZSCORE", readers, token)
  redis.call("ZREM", readers, token)
  redis.call("HDEL", record, "+" .. token)
  local held = until_ms and tonumber(until_ms) > math.floor(now / 1000)
  local latest = latest_reader(readers, record, now)
  if latest then
    redis.call("PEXPIRE", lock, latest - math.floor(now / 1000))
    return held, 0, 0
  end
  redis.call("DEL", lock)
  return held, grant(1, grant_ms, limit, liveness, nil, nil, "open")
end
