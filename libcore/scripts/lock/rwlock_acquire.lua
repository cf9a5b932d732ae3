--@script rwlock_acquire keys=5 args=6..10
--@reply HELD i i i
--@reply QUEUED i i i
--@reply BUSY i i i
-- SPDX-License-Identifier: MIT
-- Enter as a reader if no writer holds and nobody waits, else join the wait
-- queue.
-- KEYS lock, fence, wait, live, readers
-- ARGV and answers as in lock_acquire; the entry is of kind r
-- A retry under the same token finds the hold that it has, and a retried
-- entry keeps its place. A late copy does as one of lock_acquire.
--@include no_fence
--@include now
--@include token
--@include fence
--@include readers
--@include first_reader
--@include hold_field
--@include kept_free
--@include limits_at

local lock, record, wait, live, readers = unpack(KEYS)
local token, lease, who, floor = token_at(1), number_at(2, 1), ARGV[3], number_at(4, 0)
local entry, client, barge = ARGV[5], ARGV[6], ARGV[7] == "1"
local liveness, grant_ms, limit = limits_at(8)
if misuse then
  return misuse
end

local now, value = now_us(), redis.call("GET", lock)
local last, last_token, polled = read_record(record)
if not last or floor >= FENCE_END then
  return no_fence(record)
end
local latest = value == READERS and latest_reader(readers, record, now)
local until_ms = latest and redis.call("ZSCORE", readers, token)
if until_ms then
  return { REQUEST + HELD, until_ms - math.floor(now / 1000), last, now }
end
if value == READERS and not latest then
  redis.call("DEL", lock)
  value = false
end

local function enter()
  if not value then
    redis.call("SET", lock, READERS, "PX", lease)
    forget_readers(readers, record)
  end
  add_reader(readers, token, now, lease)
  local left = keep_marker(lock, readers, now, latest_reader(readers, record, now))
  local fence = next_fence(last, now, floor)
  write_record(record, last, fence, READERS, now, who, left)
  redis.call("HSET", record, "+" .. token, hold_field(fence, math.floor(now / 1000), who))
  if entry ~= "" then
    redis.call("ZREM", wait, entry)
  end
  return { REQUEST + HELD, lease, fence, now }
end

local is_kept_free = polled and not value and kept_free(polled, math.floor(now / 1000))
if not is_kept_free and (not value or latest) and (barge or redis.call("EXISTS", wait) == 0) then
  return enter()
end

--@include enqueue
--@include raise_fence
--@include grant
--@include is_ours
if entry ~= "" then
  check_entry(entry, "r", client, token)
  if misuse then
    return misuse
  end
  raise_fence(record, last, floor, lease, now)
  enqueue(wait, live, entry, client, now, liveness)
end

local ours = is_ours(value, last_token)
if value and ours == 0 then
  --@include note_poller
  ours = look_again(wait, client, note_poller(record, value, math.floor(now / 1000)))
end
if not value or latest then
  local _, _, fence, left, served, free_ms = grant(1, grant_ms, limit, liveness,
    latest and "join" or nil, entry ~= "" and token or nil)
  if fence then
    return { REQUEST + HELD, left, fence, now }
  end
  if free_ms then
    return { REQUEST + (entry == "" and BUSY or QUEUED), free_ms, now, 1 }
  end
  value = redis.call("GET", lock)
  if entry == "" and not served and (not value or value == READERS) and
    redis.call("EXISTS", wait) == 0 then
    last = read_record(record)
    return enter()
  end
  ours = value and 1 or 0
end
return { REQUEST + (entry == "" and BUSY or QUEUED), redis.call("PTTL", lock), now, ours }
