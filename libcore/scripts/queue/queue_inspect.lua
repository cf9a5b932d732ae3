--@script queue_inspect keys=9 args=1
--@reply STATE i i i i i i i i i i i i s i i *
-- SPDX-License-Identifier: MIT
-- Count the messages of a queue, now and since it began. Writes nothing.
-- KEYS meta, ready, wait, live, delayed, leases, flight, dead, died
-- ARGV count
-- returns {STATE, ready, due (of the delayed), delayed, taken, dead, waiting,
--   pushed, expired, returned, buried, purged, age of the next message in ms or
--   0, order or '', reservations, listed ones, then for each of these, the first to end
--   first: token (it begins with the consumer's client id), messages, lease left}
--@include now
--@include queue_keys
--@include lease_until
--@include number

local count = number_at(1, 0)
if misuse then
  return misuse
end

local meta = redis.call("HMGET", KEYS[META], "order", "pushed", "expired", "returned", "buried", "purged")
local now_ms = math.floor(now_us() / 1000)
local order = meta[1] or ""
local due = redis.call("ZCOUNT", KEYS[DELAYED], "-inf", now_ms)
local head = redis.call("LINDEX", KEYS[READY], order == "filo" and -1 or 0)
local pushed_ms = head and tonumber(string.match(head, "^1 %d+ %d+ (%d+)"))
local leases = count > 0 and redis.call("ZRANGE", KEYS[LEASES], 0, count - 1, "WITHSCORES") or {}
local reply = { REQUEST + STATE, redis.call("LLEN", KEYS[READY]), due, redis.call("ZCARD", KEYS[DELAYED]),
  redis.call("HLEN", KEYS[FLIGHT]), redis.call("HLEN", KEYS[DEAD]), redis.call("ZCARD", KEYS[WAIT]),
  tonumber(meta[2]) or 0, tonumber(meta[3]) or 0, tonumber(meta[4]) or 0, tonumber(meta[5]) or 0,
  tonumber(meta[6]) or 0, math.max(0, pushed_ms and now_ms - pushed_ms or 0), order,
  redis.call("ZCARD", KEYS[LEASES]), #leases / 2 }
for i = 1, #leases, 2 do
  local until_ms, messages = lease_until(tonumber(leases[i + 1]))
  for _, item in ipairs({ leases[i], messages, until_ms - now_ms }) do
    reply[#reply + 1] = item
  end
end
return reply
