-- SPDX-License-Identifier: MIT
-- A delivery ends and the message stays: first again, later, or dead.
--@include queue_message
--@include flight_fields
--@include count_up
--@include postpone

local function bury(at, blob, reason, now_ms)
  local id = string.match(blob, "^1 (%d+)")
  redis.call("HSET", KEYS[at + DEAD], id, #reason .. " " .. reason .. blob)
  redis.call("ZADD", KEYS[at + DIED], now_ms, id)
end

-- settlement: order, most (attempts, 0 for no end), now_ms, and of this settlement
-- kind (n counts it, r does not, d is dead), delay and reason. The blob's new
-- place is written, its old one left. Returns how many can be taken at once,
-- or are the first to be due: 0 or 1.
local function return_message(at, blob, settlement)
  local attempts
  if settlement.kind ~= "r" then
    blob, attempts = with_attempts(blob, 1)
  end
  if settlement.kind == "d" or attempts and settlement.most > 0 and attempts >= settlement.most then
    bury(at, blob, settlement.reason, settlement.now_ms)
    count_up(at, "buried", 1)
    return 0
  end
  if settlement.delay > 0 then
    return postpone(at, { blob }, settlement.now_ms + settlement.delay) and 1 or 0
  end
  redis.call(settlement.order == "fifo" and "LPUSH" or "RPUSH", KEYS[at + READY], blob)
  return 1
end

-- All of a reservation's messages in these places that are still in flight,
-- the last first, so that the first lies before the others again. Returns how
-- many there were and what return_message() counted.
local function return_messages(at, token, from, to, settlement)
  local fields = flight_fields(token, from, to)
  local blobs = redis.call("HMGET", KEYS[at + FLIGHT], unpack(fields))
  local found, ready = 0, 0
  for i = #fields, 1, -1 do
    if blobs[i] then
      ready = ready + return_message(at, blobs[i], settlement)
      redis.call("HDEL", KEYS[at + FLIGHT], fields[i])
      found = found + 1
    end
  end
  return found, ready
end
