--@script queue_peek keys=9 args=3
--@reply JOBS *
-- SPDX-License-Identifier: MIT
-- Look at messages without taking them. Writes nothing.
-- KEYS meta, ready, wait, live, delayed, leases, flight, dead, died
-- ARGV which (1 ready, 2 delayed, 4 dead), how many to pass over, how many
-- returns {JOBS, messages}; the dead as `<bytes of reason> <reason><message>`
--@include number
--@include reply
--@include shelf

local from, count = number_at(2, 0), number_at(3, 1)
if not misuse and not string.find("124", ARGV[1], 1, true) then
  misuse = redis.error_reply("ILKARG argument 1 must be 1, 2 or 4, got '" .. ARGV[1] .. "'")
end
if misuse then
  return misuse
end

local last = from + count - 1
if ARGV[1] == "2" then
  return { JOBS, unpack(redis.call("ZRANGE", KEYS[DELAYED], from, last)) }
elseif ARGV[1] == "4" then
  local ids = redis.call("ZRANGE", KEYS[DIED], from, last)
  return { JOBS, unpack(ids[1] and redis.call("HMGET", KEYS[DEAD], unpack(ids)) or {}) }
elseif redis.call("HGET", KEYS[META], "order") ~= "filo" then
  return { JOBS, unpack(redis.call("LRANGE", KEYS[READY], from, last)) }
end
local reply = { JOBS }
local blobs = redis.call("LRANGE", KEYS[READY], -last - 1, -from - 1)
for i = #blobs, 1, -1 do
  reply[#reply + 1] = blobs[i]
end
return reply
