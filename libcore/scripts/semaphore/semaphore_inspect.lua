--@script semaphore_inspect keys=4 args=1
--@reply HELD i i i i i i i *
--@reply FREE i i i i i i i *
-- SPDX-License-Identifier: MIT
-- Read the state of a semaphore.
-- KEYS semaphore, fence, wait, live    ARGV count
-- returns {HELD | FREE, limit (0: none on record), permits in use, now us,
--   last fence, waiters, holders, listed holders, then for each of these in
--   the order of their fences: token, who, permits, fence, since ms, lease
--   left; then up to count entries in order, each followed by the ms that it has waited
--   (-1: not known)}
-- Writes nothing, so a retry is harmless.
--@include fence_value
--@include now
--@include number
--@include waiting

local key, record, wait = KEYS[1], KEYS[2], KEYS[3]
local count = number_at(1, 0)
if misuse then
  return misuse
end

local now = now_us()
local ms = math.floor(now / 1000)
local flat = redis.call("ZRANGEBYSCORE", key, string.format("(%.0f", ms), "+inf", "WITHSCORES")
local by_token, holders, fields = {}, {}, {}
for i = 1, #flat, 2 do
  local token = string.match(flat[i], "^(.*) %d+$")
  local hold = by_token[token]
  if not hold then
    hold = { token = token, permits = 0, left = tonumber(flat[i + 1]) - ms }
    by_token[token], holders[#holders + 1], fields[#fields + 1] = hold, hold, "+" .. token
  end
  hold.permits = hold.permits + 1
end

local texts = #fields > 0 and redis.call("HMGET", record, unpack(fields)) or {}
for i, hold in ipairs(holders) do
  local fence, since, who = string.match(texts[i] or "", "^(%d+) (%d+) (.*)$")
  hold.fence, hold.since, hold.who = fence_value(fence) or 0, tonumber(since) or 0, who or ""
end
table.sort(holders, function(a, b)
  return a.fence < b.fence or a.fence == b.fence and a.token < b.token
end)

local state = redis.call("HMGET", record, "fence", "limit")
local reply = { REQUEST + (#flat > 0 and HELD or FREE), tonumber(state[2]) or 0, #flat / 2, now,
  fence_value(state[1]) or 0, redis.call("ZCARD", wait), #holders, math.min(count, #holders) }
for i = 1, reply[8] do
  local hold = holders[i]
  for _, value in ipairs({ hold.token, hold.who, hold.permits, hold.fence, hold.since, hold.left }) do
    reply[#reply + 1] = value
  end
end
return add_waiting(reply, wait, count, now)
