--@script lock_inspect keys=5 args=1
--@reply HELD s s i i i s i s i i s *
--@reply FREE s s i i i s i s i i s *
-- SPDX-License-Identifier: MIT
-- Read the state of a name.
-- KEYS lock, fence, wait, live, readers    ARGV count
-- returns {HELD | FREE, type of the lock key, its value if a string, pttl,
--   now us, fence, the record's token, since ms, who, waiters, readers,
--   owner (Redisson's; of readers the first to end), then up to count
--   entries in order}
-- Writes nothing, so a retry is harmless.
--@include fence_value
--@include now
--@include number

local lock, record, wait, readers = KEYS[1], KEYS[2], KEYS[3], KEYS[5]
local count = number_at(1, 0)
if misuse then
  return misuse
end

local now, kind, value, owner = now_us(), redis.call("TYPE", lock).ok, "", ""
if kind == "string" then
  value = redis.call("GETRANGE", lock, 0, 4095)
elseif kind == "hash" and redis.call("HLEN", lock) == 1 then
  owner = redis.call("HKEYS", lock)[1]
end
local reading = 0
if value == READERS then
  local after = string.format("(%.0f", math.floor(now / 1000))
  reading = redis.call("ZCOUNT", readers, after, "+inf")
  owner = redis.call("ZRANGEBYSCORE", readers, after, "+inf", "LIMIT", 0, 1)[1] or ""
end

local field = redis.call("HMGET", record, "fence", "token", "since", "who")
local reply = { REQUEST + (kind == "none" and FREE or HELD), kind, value, redis.call("PTTL", lock), now,
  fence_value(field[1]) or 0, field[2] or "", tonumber(field[3]) or 0, field[4] or "",
  redis.call("ZCARD", wait), reading, owner }
local entries = count > 0 and redis.call("ZRANGE", wait, 0, count - 1) or {}
for _, entry in ipairs(entries) do
  reply[#reply + 1] = entry
end
return reply
