--@script queue_inspect keys=9 args=0
--@reply STATE i i i i i i i i i i i i s
-- SPDX-License-Identifier: MIT
-- Count the messages of a queue, now and since it began. Writes nothing.
-- KEYS meta, ready, wait, live, delayed, leases, flight, dead, died
-- returns {STATE, ready, due (of the delayed), delayed, taken, dead, waiting,
--   pushed, expired, returned, buried, purged, age of the next message in ms or
--   0, order or ''}
--@include now
--@include queue_keys

local meta = redis.call("HMGET", KEYS[META], "order", "pushed", "expired", "returned", "buried", "purged")
local now_ms = math.floor(now_us() / 1000)
local order = meta[1] or ""
local due = redis.call("ZCOUNT", KEYS[DELAYED], "-inf", now_ms)
local head = redis.call("LINDEX", KEYS[READY], order == "filo" and -1 or 0)
local pushed_ms = head and tonumber(string.match(head, "^1 %d+ %d+ (%d+)"))
return { REQUEST + STATE, redis.call("LLEN", KEYS[READY]), due, redis.call("ZCARD", KEYS[DELAYED]),
  redis.call("HLEN", KEYS[FLIGHT]), redis.call("HLEN", KEYS[DEAD]), redis.call("ZCARD", KEYS[WAIT]),
  tonumber(meta[2]) or 0, tonumber(meta[3]) or 0, tonumber(meta[4]) or 0, tonumber(meta[5]) or 0,
  tonumber(meta[6]) or 0, math.max(0, pushed_ms and now_ms - pushed_ms or 0), order }
