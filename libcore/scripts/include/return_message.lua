-- SPDX-License-Identifier: MIT
-- Returning a message to its queue after a delivery: to the front, delayed, or
-- dead.
--@include queue_message
--@include flight_fields
--@include count_up
--@include postpone

local function bury(at, blob, reason, now_ms)
  local id = string.match(blob, "^1 (%d+)")
  redis.call("HSET", KEYS[at + DEAD], id, #reason .. " " .. reason .. blob)
  redis.call("ZADD", KEYS[at + DIED], now_ms, id)
end

-- settlement: order, most (attempts, 0: no limit), now_ms, kind (n counts the
-- attempt, r does not, d makes it dead), delay and reason. Writes the blob's new
-- place; the caller removes the old one. Returns 1 if it can be taken now or is
-- the first to be due, else 0.
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

-- Returns all messages in these places of a reservation that are still in
-- flight, so that they are in the old order again: the last first, but delayed ones of fifo
-- join behind each other. Returns their number and the sum of return_message().
local function return_messages(at, token, from, to, settlement)
  local fields = flight_fields(token, from, to)
  local blobs = redis.call("HMGET", KEYS[at + FLIGHT], unpack(fields))
  local found, ready = 0, 0
  local first, last, step = #fields, 1, -1
  if settlement.delay > 0 and settlement.order == "fifo" then
    first, last, step = 1, #fields, 1
  end
  for i = first, last, step do
    if blobs[i] then
      ready = ready + return_message(at, blobs[i], settlement)
      redis.call("HDEL", KEYS[at + FLIGHT], fields[i])
      found = found + 1
    end
  end
  return found, ready
end
