--@script recipes_due keys=2 args=3
--@reply HELD *
--@reply MORE *
-- SPDX-License-Identifier: MIT
-- Take the tasks that are due by the server's clock: read and removed at once.
-- KEYS queue, once (here a list: token, tasks)
-- ARGV token, how many at most, how many bytes at most
-- returns {HELD, tasks} | {MORE, tasks}: others may be due, call again
-- A retry returns the tasks that its first copy took. A late copy, after the
-- thread's next request or a minute, would take tasks that nobody handles.
--@include number
--@include value_limit
--@include now

local queue, once = KEYS[1], KEYS[2]
local token, limit, most = ARGV[1], number_at(2, 1), number_at(3, 1)
local KEEP_ANSWER_MS = 60000
if misuse then
  return misuse
end

if redis.call("LINDEX", once, "0") == token then
  local answer = redis.call("LRANGE", once, 0, -1)
  answer[1] = REQUEST + MORE
  return answer
end
local now = string.format("%.6f", now_us() / 1000000)
local due = redis.call("ZRANGEBYSCORE", queue, "0", now, "LIMIT", "0", limit)
if #due == 0 then
  return { REQUEST + HELD }
end
local refused = too_long(queue, due[1], most)
if refused then
  return refused
end
local taken, bytes = {}, 0
for _, task in ipairs(due) do
  bytes = bytes + #task
  if bytes > most then
    break
  end
  taken[#taken + 1] = task
end
redis.call("ZREM", queue, unpack(taken))
redis.call("DEL", once)
redis.pcall("RPUSH", once, token, unpack(taken))
redis.pcall("PEXPIRE", once, KEEP_ANSWER_MS)
return { REQUEST + ((#taken < #due or #due == limit) and MORE or HELD), unpack(taken) }
