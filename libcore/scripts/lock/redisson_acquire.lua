--@script redisson_acquire keys=5 args=6..10
--@reply HELD i i i
--@reply QUEUED i i i
--@reply BUSY i i i
-- SPDX-License-Identifier: MIT
-- Take a lock in Redisson's layout, a hash owner -> 1, if it is free. The wait
-- queue contains waiters to be woken; newcomers may pass it.
-- KEYS lock, fence, wait, live, readers
-- ARGV as in lock_acquire, the token being the owner; the entry is of kind
--   w; barge, grant ms and limit have no effect
-- returns as lock_acquire
-- A retry under the same owner finds the hold that it has; the count stays 1.
-- A late copy could hold the lock again until the lease ends.
--@include no_fence
--@include now
--@include token
--@include fence
--@include limits_at

local lock, record, wait, live = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local owner, lease, who, floor = token_at(1), number_at(2, 1), ARGV[3], number_at(4, 0)
local entry, client, liveness = ARGV[5], ARGV[6], limits_at(8)
if misuse then
  return misuse
end

local now = now_us()
local last, last_token = read_record(record)
if not last or floor >= FENCE_END then
  return no_fence(record)
end
local mine = redis.call("HEXISTS", lock, owner) == 1
local left = redis.call("PTTL", lock)
if mine and last_token == owner then
  return { REQUEST + HELD, left, last, now }
end
if mine or left == -2 then
  local fence = next_fence(last, now, floor)
  redis.call("HSET", lock, owner, 1)
  redis.call("PEXPIRE", lock, lease)
  write_record(record, last, fence, owner, now, who, lease)
  if entry ~= "" then
    redis.call("ZREM", wait, entry)
  end
  return { REQUEST + HELD, lease, fence, now }
end

local ours = last_token and redis.call("HEXISTS", lock, last_token) or 0
if entry == "" then
  return { REQUEST + BUSY, left, now, ours }
end
--@include enqueue
--@include raise_fence
check_entry(entry, "w", client, owner)
if misuse then
  return misuse
end
raise_fence(record, last, floor, lease, now)
enqueue(wait, live, entry, client, now, liveness)
return { REQUEST + QUEUED, left, now, ours }
