-- SPDX-License-Identifier: MIT
-- The general case of queue_reserve: any number of messages, pops, retries. It
-- uses that script's local variables.
--@include undo_reserve
--@include lease_score
--@include wake_consumers

-- The reply with the messages that this token has reserved already, for a
-- retry; nil: none.
local function reserved_before(at)
  local score = redis.call("ZSCORE", KEYS[at + LEASES], token)
  if not score then
    return nil
  end
  local until_ms, many = lease_until(tonumber(score))
  local reply = { REQUEST + JOBS, done, at / QUEUE_KEYS, until_ms - now_ms, now }
  for _, blob in ipairs(redis.call("HMGET", KEYS[at + FLIGHT], unpack(flight_fields(token, 1, many)))) do
    reply[#reply + 1] = blob or nil
  end
  return reply[6] and reply
end

-- Pops as many messages of this version as fit into a reply: a few first, to see
-- how long they are.
local function pop(at, many)
  local command, blobs, bytes = order == "fifo" and "LPOP" or "RPOP", {}, 0
  while #blobs < many and bytes < PLENTY do
    local step = bytes == 0 and 4 or math.floor((PLENTY - bytes) / (bytes / #blobs))
    local more = redis.call(command, KEYS[at + READY], math.max(1, math.min(step, many - #blobs)))
    for i = 1, #more do
      blobs[#blobs + 1], bytes = more[i], bytes + #more[i]
    end
  end
  put_back_foreign(at, blobs, order)
  if #blobs < many and lease > 0 then
    redis.call("ZADD", KEYS[at + LEASES], "XX", lease_score(now_ms + lease, #blobs), token)
  end
  return blobs
end

-- Writes the lease first: if a server without memory refuses it, nothing is
-- lost.
local function reserve(at, many)
  if lease > 0 and redis.call("ZADD", KEYS[at + LEASES], "NX", lease_score(now_ms + lease, many), token) == 0 then
    return reserved_before(at)
  end
  local blobs = pop(at, many)
  if #blobs == 0 then
    undo_reserve(at, blobs, order, token)
    return refuse_foreign(at)
  elseif lease == 0 then
    return { REQUEST + JOBS, done, at / QUEUE_KEYS, 0, now, unpack(blobs) }
  end
  local pairs_of = {}
  for i = 1, #blobs do
    pairs_of[2 * i - 1], pairs_of[2 * i] = token .. ":" .. i, blobs[i]
  end
  local kept = redis.pcall("HSET", KEYS[at + FLIGHT], unpack(pairs_of))
  if type(kept) == "number" then
    return { REQUEST + JOBS, done, at / QUEUE_KEYS, lease, now, unpack(blobs) }
  end
  undo_reserve(at, blobs, order, token)
  error(kept.err, 0)
end

-- Leaves all wait queues. If the caller was woken by another queue than the one
-- that it takes from, the wake-up is passed on.
local function leave_wait_queues(from)
  for at = 0, (queues - 1) * QUEUE_KEYS, QUEUE_KEYS do
    if redis.call("ZREM", KEYS[at + WAIT], entry) == 0 and at ~= from and
      redis.call("LLEN", KEYS[at + READY]) > 0 then
      wake_consumers(at, 1, now_ms, liveness)
    end
  end
end
