--@script queue_push keys=6 args=6+
--@reply WRITTEN i i i i
--@reply DIFFERS s
-- SPDX-License-Identifier: MIT
-- Put messages into a queue and wake a consumer for each.
-- KEYS meta, ready, wait, live, delayed, once (of this request id)
-- ARGV order, once ms, delay ms, liveness ms, n, then n messages
-- returns {WRITTEN, number of the first, how many, woken, denied}
--   | {DIFFERS, the queue's order}
-- A retry under the same request id returns what the first run returned and
-- changes nothing; so does a different push under that id, and a late copy for
-- `once ms`. A later copy would push again.
--@include now
--@include number
--@include queue_keys

local meta, ready, wait, once = KEYS[1], KEYS[2], KEYS[3], KEYS[6]
local order, delay, liveness = ARGV[1], number_at(3, 0), number_at(4, 1)
number_at(2, 1) -- once ms
local count = number_at(5, 1)
if not misuse and (#ARGV ~= 5 + count or count >= SPAN) then
  misuse = redis.error_reply("ILKARG " .. count .. " messages announced, got " .. #ARGV - 5)
end
if not misuse and order ~= "fifo" and order ~= "filo" then
  misuse = redis.error_reply("ILKARG argument 1 must be fifo or filo, got '" .. order .. "'")
end
if misuse then
  return misuse
end

local record = redis.call("HMGET", meta, "order", "pushed")
if record[1] and record[1] ~= order then
  return { REQUEST + DIFFERS, record[1] }
end
local first, now_ms = (tonumber(record[2]) or 0) + 1, math.floor(now_us() / 1000)
-- Lua takes longer to write a number than to read one, so each is written once.
local first_text, ms_text = string.format("%d", first), string.sub(now_text, 1, -4)
local count_text = count == 1 and "1" or string.format("%d", count)
if not redis.call("SET", once, first_text .. " " .. count_text, "NX", "PX", ARGV[2]) then
  local was, many = string.match(redis.call("GET", once), "^(%d+) (%d+)$")
  return { REQUEST + WRITTEN, tonumber(was), tonumber(many), 0, 0 }
end

local blobs = {}
for i = 1, count do
  local id = i == 1 and first_text or string.format("%d", first + i - 1)
  blobs[i] = "1 " .. id .. " 0 " .. ms_text .. " " .. ARGV[5 + i]
end
local put
if delay > 0 then
  --@include postpone
  local fine, earliest = pcall(postpone, 0, blobs, now_ms + delay)
  put, count = fine and 1 or earliest, earliest == true and 1 or 0
else
  put = redis.pcall("RPUSH", ready, unpack(blobs))
end
-- A refused push must not be remembered as done.
if type(put) ~= "number" then
  redis.call("DEL", once)
  return type(put) == "table" and put or redis.error_reply(put)
end
local last_text = #blobs == 1 and first_text or string.format("%d", first + #blobs - 1)
redis.call("HSET", meta, "order", order, "pushed", last_text)
if count == 0 or redis.call("EXISTS", wait) == 0 then
  return { REQUEST + WRITTEN, first, #blobs, 0, 0 }
end

--@include wake_consumers
local woken, denied = wake_consumers(0, count, now_ms, liveness)
return { REQUEST + WRITTEN, first, #blobs, woken, denied }
