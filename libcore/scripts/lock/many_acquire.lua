--@script many_acquire keys=5* args=4
--@reply HELD i i i
--@reply BUSY i i i i
-- SPDX-License-Identifier: MIT
-- Take several locks when all are free and nobody who is alive waits for any, else none.
-- KEYS lock, fence, wait, live, readers of each name
-- ARGV token, lease ms, who, floor
-- returns {HELD, lease left, fence, now us}
--   | {BUSY, index of the name from 0, its pttl, now us, ours}
-- A retry under the same token finds the hold that it has. A late copy could
-- hold the locks again until the lease ends.
--@include no_fence
--@include now
--@include token
--@include fence
--@include is_ours
--@include kept_free
--@include limits

local token, lease, who, floor = token_at(1), number_at(2, 1), ARGV[3], number_at(4, 0)
if not misuse and #KEYS % 5 ~= 0 then
  misuse = redis.error_reply("ILKARG keys come in fives, got " .. #KEYS)
end
if misuse then
  return misuse
end

local now, highest, held, left, lasts = now_us(), 0, 0, lease, {}
for at = 1, #KEYS, 5 do
  local value = redis.call("GET", KEYS[at])
  local last, last_token, polled = read_record(KEYS[at + 1])
  if not last or floor >= FENCE_END then
    return no_fence(KEYS[at + 1])
  end
  local free_ms = polled and not value and kept_free(polled, math.floor(now / 1000))
  if free_ms then
    return { REQUEST + BUSY, (at - 1) / 5, free_ms, now, 1 }
  end
  local mine, is_busy = value == token, value
  if not value and redis.call("EXISTS", KEYS[at + 2]) == 1 then
    -- Entries of the dead alone keep nobody out: the next release removes them. A deadline
    -- further ahead was written before the server's clock was set back, see walk.lua.
    local last_ms = tonumber(redis.call("ZREVRANGE", KEYS[at + 3], "0", "0", "WITHSCORES")[2] or 0)
    is_busy = last_ms >= math.floor(now / 1000) and last_ms <= now / 1000 + 10 * LIVENESS_MS
  end
  if is_busy and not mine then
    return { REQUEST + BUSY, (at - 1) / 5, redis.call("PTTL", KEYS[at]), now, is_ours(value, last_token) }
  end
  if mine and last_token == token then
    held, left = held + 1, math.min(left, redis.call("PTTL", KEYS[at]))
  end
  highest, lasts[at] = math.max(highest, last), last
end
if held == #KEYS / 5 then
  return { REQUEST + HELD, left, highest, now }
end

local fence = next_fence(highest, now, floor)
for at = 1, #KEYS, 5 do
  redis.call("SET", KEYS[at], token, "PX", lease)
  write_record(KEYS[at + 1], lasts[at], fence, token, now, who, lease)
end
return { REQUEST + HELD, lease, fence, now }
