--@script lock_inspect keys=5 args=1
--@reply HELD s s i i i s i s i i s i *
--@reply FREE s s i i i s i s i i s i *
-- SPDX-License-Identifier: MIT
-- Read the state of a name.
-- KEYS lock, fence, wait, live, readers    ARGV count
-- returns {HELD | FREE, type of the lock key, its value if a string, pttl,
--   now us, fence, the record's token, since ms, who, waiters, readers,
--   owner (Redisson's), listed readers, then for each of these, the first to end first:
--   token, who, fence, since ms, lease left; then up to count entries in order, each
--   followed by the ms that it has waited (-1: not known)}
-- Writes nothing, so a retry is harmless.
--@include fence_value
--@include now
--@include number
--@include waiting

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
local ms, reading, listed = math.floor(now / 1000), 0, {}
if value == READERS then
  local after = string.format("(%.0f", ms)
  reading = redis.call("ZCOUNT", readers, after, "+inf")
  listed = redis.call("ZRANGEBYSCORE", readers, after, "+inf", "WITHSCORES", "LIMIT", 0, count)
end

local field = redis.call("HMGET", record, "fence", "token", "since", "who")
local reply = { REQUEST + (kind == "none" and FREE or HELD), kind, value, redis.call("PTTL", lock), now,
  fence_value(field[1]) or 0, field[2] or "", tonumber(field[3]) or 0, field[4] or "",
  redis.call("ZCARD", wait), reading, owner, #listed / 2 }
for i = 1, #listed, 2 do
  -- A reader that an earlier version let in has no field.
  local text = redis.call("HMGET", record, "+" .. listed[i])[1] or ""
  local given, since, who = string.match(text, "^(%d+) (%d+) (.*)$")
  for _, item in ipairs({ listed[i], who or "", fence_value(given) or 0, tonumber(since) or 0,
    tonumber(listed[i + 1]) - ms }) do
    reply[#reply + 1] = item
  end
end
return add_waiting(reply, wait, count, now)
