--@script many_extend keys=5* args=4
--@reply HELD i i i
--@reply LOST i i s
-- SPDX-License-Identifier: MIT
-- Give several locks of one token a fresh lease and, on request, one fence.
-- KEYS lock, fence, wait, live, readers of each name
-- ARGV token, lease ms, renewal 0|1, fence (0: leave them; else no record
--   stays below)
-- returns {HELD, the shortest lease, highest fence, now us}
--   | {LOST, born, broken, by} (see include/evidence.lua): nothing is changed
-- A retry sets the same lease and fence again. A renewal that is executed
-- late never shortens; a late extend is cut off with its connection.
--@include now
--@include token
--@include record
--@include born

local token, lease, fence = token_at(1), number_at(2, 1), number_at(4, 0)
local renews = number_at(3, 0) == 1
if not misuse and #KEYS % 5 ~= 0 then
  misuse = redis.error_reply("ILKARG keys come in fives, got " .. #KEYS)
end
if misuse then
  return misuse
end

for at = 1, #KEYS, 5 do
  if redis.call("GET", KEYS[at]) ~= token then
    --@include evidence
    return lost(KEYS[at + 1], token)
  end
end
local now, highest, shortest = now_us(), fence, nil
for at = 1, #KEYS, 5 do
  local last = read_record(KEYS[at + 1]) or 0
  local left = renews and math.max(lease, redis.call("PTTL", KEYS[at])) or lease
  -- The expiry comes first: a server out of memory allows it, and then the rest.
  redis.call("PEXPIRE", KEYS[at], left)
  if last < fence then
    redis.call("HSET", KEYS[at + 1], "fence", string.format("%.0f", fence), "token", token)
    date_record(KEYS[at + 1], last, now)
  end
  keep_record(KEYS[at + 1], left)
  shortest = math.min(shortest or left, left)
  highest = math.max(highest, last)
end
return { REQUEST + HELD, shortest, highest, now }
