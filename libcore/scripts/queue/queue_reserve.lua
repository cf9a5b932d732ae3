--@script queue_reserve keys=9* args=10+
--@reply JOBS s i i i *
--@reply EMPTY s i i
--@reply DIFFERS s i s
--@reply REFUSED s s
-- SPDX-License-Identifier: MIT
-- Settle earlier deliveries, and take the next messages from the first queue
-- that has some, or join the wait queues of all of them.
-- KEYS for each queue: meta, ready, wait, live, delayed, leases, flight, dead,
--   died
-- ARGV token, count, lease ms (0 pops without one), order, most attempts (0: no
--   limit), entry ('': do not wait), client, liveness ms, limit (of messages that
--   become due in this call), queued 0|1 (the entry may be in the wait queue), then
--   settlements, see settlement.lua
-- returns {JOBS, done, index of the queue, lease left, now us, messages}
--   | {EMPTY, done, ms until something becomes due (-1 never), now us}
--   | {DIFFERS, done, index of the queue, its order}
--   | {REFUSED, done, the server's error} when there were settlements
-- The error ILKARG says that the next message is of another version.
-- A retry under the same token returns the same messages, and a retried entry
-- keeps its place. Settlements of a retry find nothing: 0 for each. A pop leaves
-- nothing behind that a retry could find. A late copy would reserve messages for
-- nobody until the lease ends; a late pop would lose one.
--@include now

local token, count, lease, order = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local now = now_us()
local now_ms, done = math.floor(now / 1000), nil

--@include reserve_one
--@include token
--@include settlement
--@include settle
--@include due
--@include next_due
--@include enqueue

token, count, lease = token_at(1), number_at(2, 1), number_at(3, 0)
local most, entry, client = number_at(5, 0), ARGV[6], ARGV[7]
local liveness, limit, queued, queues = number_at(8, 1), number_at(9, 1), ARGV[10] == "1", #KEYS / QUEUE_KEYS
local settlements, fault = settlements_at(11, "anrd", queues)
if entry ~= "" then
  check_entry(entry, "q", client, token)
end
if misuse or fault or count * 2 > SPAN then
  return misuse or fault or redis.error_reply("ILKARG at most 256 messages, got " .. count)
end

done = done or settle(settlements, order, most, now_ms, liveness)

--@include reserve_many

local function try_queue(at)
  local there = redis.call("HGET", KEYS[at + META], "order")
  if there and there ~= order then
    return { REQUEST + DIFFERS, done, at / QUEUE_KEYS, there }
  end
  local back = promote(at, order, most, now_ms, limit)
  local ready = redis.call("LLEN", KEYS[at + READY])
  local reply = ready == 0 and reserved_before(at) or ready > 0 and reserve(at, math.min(count, ready))
  if back > 0 then
    wake_consumers(at, math.min(back, redis.call("LLEN", KEYS[at + READY])), now_ms, liveness)
  end
  return reply
end

-- A retry goes to the queue that its first run took from.
local function run()
  local reply
  for at = QUEUE_KEYS, (queues - 1) * QUEUE_KEYS, QUEUE_KEYS do
    reply = reply or reserved_before(at)
  end
  if reply then
    return reply
  end
  for at = 0, (queues - 1) * QUEUE_KEYS, QUEUE_KEYS do
    reply = try_queue(at)
    if reply then
      if queued and reply[1] == REQUEST + JOBS then
        leave_wait_queues(at)
      end
      return reply
    end
  end
  if entry == "" then
    return { REQUEST + EMPTY, done, -1, now }
  end
  for at = 0, (queues - 1) * QUEUE_KEYS, QUEUE_KEYS do
    enqueue(KEYS[at + WAIT], KEYS[at + LIVE], entry, client, now, liveness)
  end
  return { REQUEST + EMPTY, done, next_due(queues, now_ms), now }
end

if #settlements == 0 then
  return run()
end
local fine, reply = pcall(run)
if fine and not reply.err then
  return reply
end
return { REQUEST + REFUSED, done, type(reply) == "table" and reply.err or tostring(reply) }
