--@script lock_acquire keys=5 args=6..10
--@reply HELD i i i
--@reply QUEUED i i i
--@reply BUSY i i i
-- SPDX-License-Identifier: MIT
-- Take the lock if it is free and nobody waits, else join the wait queue.
-- KEYS lock, fence, wait, live, readers
-- ARGV token, lease ms, who, floor (the highest fence the caller has seen),
--   entry ('': do not wait), client; optional: barge 0|1, liveness ms, grant ms, limit
-- returns {HELD, lease left, fence, now us}
--   | {QUEUED | BUSY, holder's pttl (-2 free, -1 no expiry), now us, ours}
-- A retry under the same token finds the hold that it has, and a retried entry keeps its
-- place. A late copy, executed after the caller gave up, takes a free lock until the lease
-- ends, or puts the entry into the wait queue. When that is granted, the client of the
-- entry finds no waiter for the message, and cancels: the next waiter gets the lock.
--
-- Lua makes every function anew in each call, and a function costs as much as a
-- command. So functions are included where they are needed, and the common case
-- comes first, without any: the lock is free, nobody waits, and its record need
-- not be kept longer.
--@include fence_value
--@include kept_ms
--@include limits

local lock, record, wait, live = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local token, lease, who, floor = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local entry, client, barge = ARGV[5], ARGV[6], ARGV[7] == "1"
if token == "" or token == READERS or not lease or lease < 1 or lease % 1 ~= 0 or
  lease >= 9007199254740992 or not floor or floor < 0 or floor % 1 ~= 0 then
  --@include token
  token_at(1)
  number_at(2, 1)
  number_at(4, 0)
  return misuse
end

local found = redis.call("HMGET", record, "fence", "token", "kept", "polled")
local last, last_token, kept, polled = fence_value(found[1]), found[2], tonumber(found[3]), found[4]
if not last or floor >= FENCE_END then
  --@include no_fence
  return no_fence(record)
end

--@include now
local now = now_us()
local is_kept_free = false
if polled then
  --@include kept_free
  is_kept_free = kept_free(polled, math.floor(now / 1000))
end
local is_taken = not is_kept_free and (barge or redis.call("EXISTS", wait) == 0) and
  redis.call("SET", lock, token, "NX", "PX", ARGV[2])
if is_taken and barge and entry ~= "" then
  redis.call("ZREM", wait, entry)
end
if is_taken and last < now and floor < now and kept and kept > now / 1000 + lease + KEPT_MS / 2 then
  redis.call("HSET", record, "fence", now_text, "token", token,
    "since", string.sub(now_text, 1, -4), "who", who, "given", now_text)
  return { REQUEST + HELD, lease, now, now }
end

-- The second common case: one of this library holds, and the caller's client waits already (is_fresh in enqueue.lua).
local value = not is_taken and redis.call("GET", lock)
if entry ~= "" and value and value == last_token and value ~= token and floor <= last then
  local of, whose = string.match(entry, "^1 [xw] (%S+) %S+ (%S+) [1-9]%d* %d+ ?")
  local greatest = redis.call("ZREVRANGE", wait, "0", "0", "WITHSCORES")[2]
  local liveness = tonumber(ARGV[8] or LIVENESS_MS) or 0
  local left = greatest and tonumber(redis.call("ZSCORE", live, client) or 0) - now / 1000
  if of == client and whose == token and left and left > liveness * 5 / 6 and left <= liveness then
    redis.call("ZADD", wait, "NX", greatest + 1 > now and greatest + 1 or now_text, entry)
    return { REQUEST + QUEUED, redis.call("PTTL", lock), now, 1 }
  end
end

--@include fence
local function acquire(left)
  local fence = next_fence(last, now, floor)
  write_record(record, last, fence, token, now, who, left)
  return { REQUEST + HELD, left, fence, now }
end

if is_taken then
  return acquire(lease)
end
if value == token then
  local left = redis.call("PTTL", lock)
  return last_token == token and { REQUEST + HELD, left, last, now } or acquire(left)
end

--@include limits_at
local liveness, grant_ms, limit = limits_at(8)
if misuse then
  return misuse
end
if entry ~= "" then
  --@include enqueue
  --@include raise_fence
  check_entry(entry, "xw", client, token)
  if misuse then
    return misuse
  end
  raise_fence(record, last, floor, lease, now)
  enqueue(wait, live, entry, client, now, liveness)
end

--@include is_ours
local ours = is_ours(value, last_token)
if value and ours == 0 then
  --@include note_poller
  ours = look_again(wait, client, note_poller(record, value, math.floor(now / 1000)))
end
if not value then
  --@include take_turn
  local reply, there = take_turn()
  if reply then
    return reply
  end
  ours = there
end
return { REQUEST + (entry == "" and BUSY or QUEUED), redis.call("PTTL", lock), now, ours }
