-- SPDX-License-Identifier: MIT
-- Making messages ready that became due: those of leases that ran out, and
-- delayed ones. Each call handles a bounded number, so that none takes long.
--@include return_message
--@include lease_score

local DUE_BYTES = 262144

-- A server out of memory checks only a script's first write. This one removes nothing, and
-- needs no memory; after it messages can be moved, and a pop takes them.
local function begin_moving(key)
  redis.call("ZREMRANGEBYRANK", key, 1, 0)
end

-- Return the messages of reservations that ran out to the front of the queue;
-- after the last attempt they are dead. Returns how many can be taken.
local function return_expired(at, tokens, order, most, now_ms, limit)
  local settlement = { order = order, most = most, now_ms = now_ms, kind = "n", delay = 0,
    reason = "the lease ran out" }
  local ready, expired = 0, 0
  for i = #tokens - 1, 1, -2 do
    local token = tokens[i]
    local _, count = lease_until(tonumber(tokens[i + 1]))
    local from = math.max(1, count - limit + expired + 1)
    local found, more = return_messages(at, token, from, count, settlement)
    ready, expired = ready + more, expired + found
    if from == 1 then
      redis.call("ZREM", KEYS[at + LEASES], token)
    else
      redis.call("ZADD", KEYS[at + LEASES], "XX", lease_score(0, from - 1), token)
    end
    if expired >= limit then
      break
    end
  end
  count_up(at, "expired", expired)
  return ready
end

-- Delayed messages join the queue as if they were pushed now. Returns how many.
local function promote_delayed(at, now_ms, limit)
  local delayed, moved, bytes, step = KEYS[at + DELAYED], 0, 0, math.min(8, limit)
  while moved < limit and bytes < DUE_BYTES do
    local blobs = redis.call("ZRANGEBYSCORE", delayed, "-inf", now_ms, "LIMIT", 0, step)
    if #blobs == 0 then
      break
    end
    begin_moving(delayed)
    redis.call("RPUSH", KEYS[at + READY], unpack(blobs))
    redis.call("ZREMRANGEBYRANK", delayed, 0, #blobs - 1)
    moved = moved + #blobs
    for i = 1, #blobs do
      bytes = bytes + #blobs[i]
    end
    if #blobs < step then
      break
    end
    step = math.min(bytes < 16384 and limit or 8, limit - moved)
  end
  return moved
end

-- Returns how many more can be taken now.
local function promote(at, order, most, now_ms, limit)
  local ready = 0
  local tokens = redis.call("ZRANGEBYSCORE", KEYS[at + LEASES], "-inf", now_ms * SPAN + SPAN - 1,
    "WITHSCORES", "LIMIT", 0, limit)
  if #tokens > 0 then
    begin_moving(KEYS[at + LEASES])
    ready = return_expired(at, tokens, order, most, now_ms, limit)
  end
  return ready + promote_delayed(at, now_ms, limit)
end
