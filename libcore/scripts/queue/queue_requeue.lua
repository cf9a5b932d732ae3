--@script queue_requeue keys=10 args=4
--@reply WRITTEN i
-- SPDX-License-Identifier: MIT
-- Put dead messages back behind all others, with no attempts counted.
-- KEYS meta, ready, wait, live, delayed, leases, flight, dead, died, once (of
--   this request)
-- ARGV id ('' for the oldest), how many at most, liveness ms, once ms
-- returns {WRITTEN, how many}
-- A retry returns what the first run returned; so does a late copy, for `once
-- ms`, and a later one would requeue messages that died since.
--@include now
--@include number
--@include queue_message
--@include wake_consumers

local id, count, liveness, once_ms = ARGV[1], number_at(2, 1), number_at(3, 1), number_at(4, 1)
if misuse then
  return misuse
end
local before = redis.call("GET", KEYS[10])
if before then
  return { REQUEST + WRITTEN, tonumber(before) }
end

local ids = id ~= "" and { id } or redis.call("ZRANGE", KEYS[DIED], 0, count - 1)
local found, blobs = ids[1] and redis.call("HMGET", KEYS[DEAD], unpack(ids)) or {}, {}
for i = 1, #ids do
  if found[i] then
    local len, from = string.match(found[i], "^(%d+) ()")
    blobs[#blobs + 1] = with_attempts(string.sub(found[i], from + len))
  end
end
redis.call("SET", KEYS[10], #blobs, "PX", once_ms)
if #blobs > 0 then
  redis.call("RPUSH", KEYS[READY], unpack(blobs))
end
if #ids > 0 then
  redis.call("HDEL", KEYS[DEAD], unpack(ids))
  redis.call("ZREM", KEYS[DIED], unpack(ids))
end
wake_consumers(0, #blobs, math.floor(now_us() / 1000), liveness)
return { REQUEST + WRITTEN, #blobs }
