--@script queue_peek keys=9 args=3
--@reply JOBS *
-- SPDX-License-Identifier: MIT
-- Return messages without taking them. Writes nothing.
-- KEYS meta, ready, wait, live, delayed, leases, flight, dead, died
-- ARGV which (1 ready, 2 delayed, 4 dead), how many to pass over, how many
-- returns {JOBS, messages: fewer when they are long}; dead ones as
--   `<bytes of reason> <reason><message>`
--@include number
--@include queue_keys

local from, count = number_at(2, 0), number_at(3, 1)
if not misuse and not string.find("124", ARGV[1], 1, true) then
  misuse = redis.error_reply("ILKARG argument 1 must be 1, 2 or 4, got '" .. ARGV[1] .. "'")
end
if misuse then
  return misuse
end

local newest = redis.call("HGET", KEYS[META], "order") == "filo"

-- The list, the set or the hash of the dead, from..last, in order.
local function slice(first, last)
  if ARGV[1] == "2" then
    return redis.call("ZRANGE", KEYS[DELAYED], first, last)
  elseif ARGV[1] == "4" then
    local ids = redis.call("ZRANGE", KEYS[DIED], first, last)
    return ids[1] and redis.call("HMGET", KEYS[DEAD], unpack(ids)) or {}
  elseif not newest then
    return redis.call("LRANGE", KEYS[READY], first, last)
  end
  local blobs, reversed = redis.call("LRANGE", KEYS[READY], -last - 1, -first - 1), {}
  for i = #blobs, 1, -1 do
    reversed[#reversed + 1] = blobs[i]
  end
  return reversed
end

local reply, bytes, step = { REQUEST + JOBS }, 0, 4
while #reply <= count and bytes < PLENTY do
  local at = from + #reply - 1
  local blobs = slice(at, math.min(at + step, from + count) - 1)
  for i = 1, #blobs do
    reply[#reply + 1], bytes = blobs[i] or "", bytes + #(blobs[i] or "")
  end
  if #blobs < step then
    break
  end
end
return reply
