-- SPDX-License-Identifier: MIT
-- A delivery ends and the message stays: first again, later, or dead.
--@include message
--@include fields
--@include tally
--@include postpone

local function bury(at, blob, reason, now_ms)
  local id = string.match(blob, "^1 (%d+)")
  redis.call("HSET", KEYS[at + DEAD], id, #reason .. " " .. reason .. blob)
  redis.call("ZADD", KEYS[at + DIED], now_ms, id)
end

-- ending: order, most (attempts, 0 for no end), now_ms, and of this ending
-- verb (n counts it, r does not, d is dead), delay and reason. The blob's new
-- place is written, its old one left. Returns how many can be taken at once,
-- or are the first to be due: 0 or 1.
local function give_back(at, blob, ending)
  local attempts
  if ending.verb ~= "r" then
    blob, attempts = with_attempts(blob, 1)
  end
  if ending.verb == "d" or attempts and ending.most > 0 and attempts >= ending.most then
    bury(at, blob, ending.reason, ending.now_ms)
    tally(at, "buried", 1)
    return 0
  end
  if ending.delay > 0 then
    return postpone(at, { blob }, ending.now_ms + ending.delay) and 1 or 0
  end
  redis.call(ending.order == "fifo" and "LPUSH" or "RPUSH", KEYS[at + READY], blob)
  return 1
end

-- All of a reservation's messages in these places that are still in flight,
-- the last first, so that the first lies before the others again. Returns how
-- many there were and what give_back() counted.
local function give_back_all(at, token, from, to, ending)
  local fields = fields_of(token, from, to)
  local blobs = redis.call("HMGET", KEYS[at + FLIGHT], unpack(fields))
  local found, ready = 0, 0
  for i = #fields, 1, -1 do
    if blobs[i] then
      ready = ready + give_back(at, blobs[i], ending)
      redis.call("HDEL", KEYS[at + FLIGHT], fields[i])
      found = found + 1
    end
  end
  return found, ready
end
