--@script lock_acquire keys=5 args=10
--@reply HELD i i i
--@reply QUEUED i i i
--@reply BUSY i i i
-- SPDX-License-Identifier: MIT
-- Take the lock if it is free and nobody waits, else join the wait queue.
-- KEYS lock, fence, wait, live, readers
-- ARGV token, lease ms, who, floor (the highest fence the caller has seen),
--   entry ('': do not wait), client, liveness ms, barge 0|1, grant ms, limit
--   (of entries that one step looks at)
-- returns {HELD, lease left, fence, now us}
--   | {QUEUED | BUSY, holder's pttl (-2 free, -1 no expiry), now us, ours}
-- A retry under the same token finds the hold that it has, and a retried
-- entry keeps its place. A late copy, executed after the caller gave up, takes a
-- free lock until the lease ends, or puts the entry into the wait queue. When that
-- is granted, the client of the entry finds no waiter for the message, and cancels:
-- the next waiter gets the lock.
--@include no_fence
--@include now
--@include token
--@include fence

local lock, record, wait, live = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local token, lease, who, floor = token_at(1), number_at(2, 1), ARGV[3], number_at(4, 0)
local entry, client, liveness = ARGV[5], ARGV[6], number_at(7, 1)
local barge, grant_ms, limit = ARGV[8] == "1", number_at(9, 1), number_at(10, 1)
if misuse then
  return misuse
end

local now = now_us()
local last, last_token = read_record(record)
if not last or floor >= FENCE_END then
  return no_fence(record)
end

local function acquire(left)
  local fence = next_fence(last, now, floor)
  write_record(record, last, fence, token, now, who, left)
  return { REQUEST + HELD, left, fence, now }
end

if (barge or redis.call("EXISTS", wait) == 0) and redis.call("SET", lock, token, "NX", "PX", lease) then
  if barge and entry ~= "" then
    redis.call("ZREM", wait, entry)
  end
  return acquire(lease)
end

local value = redis.call("GET", lock)
if value == token then
  local left = redis.call("PTTL", lock)
  return last_token == token and { REQUEST + HELD, left, last, now } or acquire(left)
end

--@include enqueue
--@include raise_fence
--@include grant
--@include is_ours
if entry ~= "" then
  check_entry(entry, "xw", client, token)
  if misuse then
    return misuse
  end
  raise_fence(record, last, floor, lease, now)
  enqueue(wait, live, entry, client, now, liveness)
end

local ours = is_ours(value, last_token)
if not value then
  local _, _, fence, left, served = grant(1, grant_ms, limit, liveness, nil, entry ~= "" and token or nil)
  if fence then
    return { REQUEST + HELD, left, fence, now }
  end
  ours = redis.call("EXISTS", lock)
  if entry == "" and ours == 0 and not served and redis.call("EXISTS", wait) == 0 then
    redis.call("SET", lock, token, "PX", lease)
    return acquire(lease)
  end
end
return { REQUEST + (entry == "" and BUSY or QUEUED), redis.call("PTTL", lock), now, ours }
