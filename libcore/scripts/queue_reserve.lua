--@script queue_reserve keys=9* args=10+
--@reply JOBS s i i i *
--@reply EMPTY s i i
--@reply DIFFERS s i s
--@reply REFUSED s s
-- SPDX-License-Identifier: MIT
-- Say how earlier deliveries ended, and take the next messages from the
-- first queue that has some, or stand in line for all of them.
-- KEYS for each queue: meta, ready, wait, live, delayed, leases, flight, dead,
--   died
-- ARGV token, count, lease ms (0 takes for good), order, most attempts (0: no
--   end), entry ('' tries once), client, liveness ms, limit (of messages that
--   become due in this call), queued 0|1 (the entry may be in line), then
--   items, see item.lua
-- returns {JOBS, done, index of the queue, lease left, now us, messages}
--   | {EMPTY, done, ms until something becomes due (-1 never), now us}
--   | {DIFFERS, done, index of the queue, its order}
--   | {REFUSED, done, what the server said} when there were items
-- A retry under the same token is given the same messages, and a retried
-- entry keeps its place. Items of a retry find nothing to end: 0 for each.
-- Taking for good leaves nothing behind that a retry could find.
--@include now
--@include reply
--@include put_back

local token, count, lease, order = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local now = now_us()
local now_ms, done = math.floor(now / 1000), nil

-- Mostly it is one message of one queue, nothing has become due, and what was
-- taken before is done. Whatever else there is comes below.
local last = ""
if #ARGV == 11 then
  last = string.match(ARGV[#ARGV], "^a 0 (%S+) 1 1 1 ")
end
if #KEYS == SHELF and last and #ARGV <= 11 and token ~= "" and ARGV[10] == "0" and
  count == 1 and lease and lease > 0 and lease % 1 == 0 and
  redis.call("HGET", KEYS[META], "order") == order and
  redis.call("LLEN", KEYS[READY]) > 0 and
  not redis.call("ZRANGEBYSCORE", KEYS[LEASES], "-inf", now_ms * SPAN + SPAN - 1, "LIMIT", 0, 1)[1] and
  not redis.call("ZRANGEBYSCORE", KEYS[DELAYED], "-inf", now_ms, "LIMIT", 0, 1)[1] then
  done = ""
  if last ~= "" then
    done = tostring(redis.call("HDEL", KEYS[FLIGHT], last .. ":1"))
    redis.call("ZREM", KEYS[LEASES], last)
  end
  local score = string.format("%.0f", (now_ms + lease) * SPAN + 1)
  local kept = redis.pcall("ZADD", KEYS[LEASES], "NX", score, token)
  if kept == 1 then
    local blobs = redis.call(order == "fifo" and "LPOP" or "RPOP", KEYS[READY], 1)
    kept = redis.pcall("HSET", KEYS[FLIGHT], token .. ":1", blobs[1])
    if type(kept) == "number" then
      return { JOBS, done, 0, lease, now, blobs[1] }
    end
    put_back(0, blobs, order, token)
  end
  if type(kept) ~= "number" then
    return last == "" and kept or { REFUSED, done, kept.err }
  end
end

--@include token
--@include item
--@include finish
--@include due
--@include next_due
--@include wait

token, count, lease = token_at(1), number_at(2, 1), number_at(3, 0)
local most, entry, client = number_at(5, 0), ARGV[6], ARGV[7]
local liveness, limit, queued, queues = number_at(8, 1), number_at(9, 1), ARGV[10] == "1", #KEYS / SHELF
local items, fault = items_at(11, "anrd", queues)
if entry ~= "" then
  check_entry(entry, "q", client, token)
end
if misuse or fault or count * 2 > SPAN then
  return misuse or fault or redis.error_reply("ILKARG at most 256 messages, got " .. count)
end

done = done or finish(items, order, most, now_ms, liveness)

-- What this token has taken before, when the reply got lost.
local function taken(at)
  local score = redis.call("ZSCORE", KEYS[at + LEASES], token)
  if not score then
    return nil
  end
  local until_ms, many = until_of(tonumber(score))
  local reply = { JOBS, done, at / SHELF, until_ms - now_ms, now }
  for _, blob in ipairs(redis.call("HMGET", KEYS[at + FLIGHT], unpack(fields_of(token, 1, many)))) do
    reply[#reply + 1] = blob or nil
  end
  return reply[6] and reply
end

-- As many as a reply can hold: a few first, to see how long they are.
local function pop(at, many)
  local verb, blobs = order == "fifo" and "LPOP" or "RPOP", {}
  if many <= 4 then
    return redis.call(verb, KEYS[at + READY], many)
  end
  local bytes = 0
  while #blobs < many and bytes < PLENTY do
    local step = bytes == 0 and 4 or math.floor((PLENTY - bytes) / (bytes / #blobs))
    local more = redis.call(verb, KEYS[at + READY], math.max(1, math.min(step, many - #blobs)))
    for i = 1, #more do
      blobs[#blobs + 1], bytes = more[i], bytes + #more[i]
    end
  end
  if #blobs < many and lease > 0 then
    redis.call("ZADD", KEYS[at + LEASES], "XX", lease_score(now_ms + lease, #blobs), token)
  end
  return blobs
end

-- The lease first: it is what a server without memory refuses.
local function take(at, many)
  if lease > 0 and redis.call("ZADD", KEYS[at + LEASES], "NX", lease_score(now_ms + lease, many), token) == 0 then
    return taken(at)
  end
  local blobs = pop(at, many)
  if lease == 0 then
    return { JOBS, done, at / SHELF, 0, now, unpack(blobs) }
  end
  local pairs_of = {}
  for i = 1, #blobs do
    pairs_of[2 * i - 1], pairs_of[2 * i] = token .. ":" .. i, blobs[i]
  end
  local kept = redis.pcall("HSET", KEYS[at + FLIGHT], unpack(pairs_of))
  if type(kept) == "number" then
    return { JOBS, done, at / SHELF, lease, now, unpack(blobs) }
  end
  put_back(at, blobs, order, token)
  error(kept)
end

-- Who had been woken by another queue than it takes from passes that on.
local function leave_lines(from)
  for at = 0, (queues - 1) * SHELF, SHELF do
    if redis.call("ZREM", KEYS[at + WAIT], entry) == 0 and at ~= from and
      redis.call("LLEN", KEYS[at + READY]) > 0 then
      wake_up(at, 1, now_ms, liveness)
    end
  end
end

local function look(at)
  local there = redis.call("HGET", KEYS[at + META], "order")
  if there and there ~= order then
    return { DIFFERS, done, at / SHELF, there }
  end
  local back = promote(at, order, most, now_ms, limit)
  local ready = redis.call("LLEN", KEYS[at + READY])
  local reply = ready == 0 and taken(at) or ready > 0 and take(at, math.min(count, ready))
  if back > 0 then
    wake_up(at, math.min(back, redis.call("LLEN", KEYS[at + READY])), now_ms, liveness)
  end
  return reply
end

local function run()
  for at = 0, (queues - 1) * SHELF, SHELF do
    local reply = look(at)
    if reply then
      if queued and reply[1] == JOBS then
        leave_lines(at)
      end
      return reply
    end
  end
  if entry == "" then
    return { EMPTY, done, -1, now }
  end
  for at = 0, (queues - 1) * SHELF, SHELF do
    enqueue(KEYS[at + WAIT], KEYS[at + LIVE], entry, client, now, liveness)
  end
  return { EMPTY, done, next_due(queues, now_ms), now }
end

if #items == 0 then
  return run()
end
local fine, reply = pcall(run)
if fine then
  return reply
end
return { REFUSED, done, type(reply) == "table" and reply.err or tostring(reply) }
