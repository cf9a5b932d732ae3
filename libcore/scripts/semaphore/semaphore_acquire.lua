--@script semaphore_acquire keys=4 args=12
--@reply HELD i i i
--@reply QUEUED i i i
--@reply BUSY i i i
--@reply DIFFERS i i
-- SPDX-License-Identifier: MIT
-- Take permits if enough are free and nobody waits, else join the wait queue.
-- KEYS semaphore, fence, wait, live
-- ARGV token, lease ms, who, floor (the highest fence the caller has seen),
--   entry ('': do not wait), client, barge 0|1, liveness ms, grant ms, limit (of
--   the walk), permits, the semaphore's limit
-- returns {HELD, lease left, fence, now us}
--   | {QUEUED | BUSY, ms until a lease ends (-2: not known), now us, ours}
--   | {DIFFERS, the limit in force, the limit it was set up with}
-- A retry under the same token finds the hold that it has, and a retried
-- entry keeps its place. A late copy could hold permits again until the lease
-- ends, or wait until its grant, which nobody expects, is passed on.
--@include now
--@include token
--@include lease_end
--@include hold_fence
--@include no_fence
--@include permits
--@include return_permits
--@include next_fence

local key, record, wait, live = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local token, lease, who, floor = token_at(1), number_at(2, 1), ARGV[3], number_at(4, 0)
local entry, client, barge = ARGV[5], ARGV[6], ARGV[7] == "1"
local liveness, grant_ms, limit = number_at(8, 1), number_at(9, 1), number_at(10, 1)
local permits, wanted = number_at(11, 1), number_at(12, 1)
if misuse then
  return misuse
end

local state = redis.call("HMGET", record, "fence", "limit", "base", "+" .. token)
local last, most, base = fence_value(state[1]), tonumber(state[2]), tonumber(state[3])
if not last or floor >= FENCE_END then
  return no_fence(record)
end
local now = now_us()
local ms = math.floor(now / 1000)
local ms_text = string.sub(now_text, 1, -4)
purge(key, record, ms_text)

local until_ms = state[4] and lease_ends_at(key, token)
if until_ms then
  return { REQUEST + HELD, until_ms - ms, hold_fence(state[4]), now }
end

local used, waited = redis.call("ZCARD", key), redis.call("EXISTS", wait) == 1
local other = most and wanted ~= most and wanted ~= base
if other and used == 0 and waited then
  --@include grant_permits
  grant_permits(grant_ms, limit, liveness)
  used, waited = redis.call("ZCARD", key), redis.call("EXISTS", wait) == 1
end
if other and (used > 0 or waited) or permits > (other and wanted or most or wanted) then
  return { REQUEST + DIFFERS, most or wanted, base or wanted }
end
if other or not most then
  most, base = wanted, wanted
end
local is_new = most ~= tonumber(state[2])

--@include digits
local function acquire()
  local fence = next_fence(last, now, floor)
  local text = digits(fence)
  put_permits(key, token, permits, ms + lease)
  redis.call("HSET", record, "fence", text, "+" .. token, text .. " " .. ms_text .. " " .. who)
  if is_new or last == 0 then
    redis.call("HSET", record, "limit", most, "base", base)
  end
  if last == 0 then
    redis.call("HSET", record, "born", now_text)
  end
  keep_semaphore(key, record, ms, ms + lease)
  return { REQUEST + HELD, lease, fence, now }
end

if (barge or not waited) and used + permits <= most then
  if barge and entry ~= "" then
    redis.call("ZREM", wait, entry)
  end
  return acquire()
end

if entry ~= "" then
  --@include enqueue
  --@include raise_fence
  check_entry(entry, "pw", client, token, permits)
  if misuse then
    return misuse
  end
  raise_fence(record, last, floor, lease, now)
  if not tonumber(state[2]) then
    redis.call("HSET", record, "limit", most, "base", base)
    keep_record(record, lease)
  end
  enqueue(wait, live, entry, client, now, liveness)
end

local walk
if used < most then
  --@include grant_permits
  local _
  _, _, walk = grant_permits(grant_ms, limit, liveness, nil, entry ~= "" and token or nil)
  if walk and walk.own_fence then
    return { REQUEST + HELD, walk.own_lease, walk.own_fence, now }
  end
  if entry == "" and walk and walk.free >= permits and redis.call("EXISTS", wait) == 0 then
    last = walk.fence
    return acquire()
  end
end
--@include holder_state
local left, ours = holder_state(key, ms, walk)
return { REQUEST + (entry == "" and BUSY or QUEUED), left, now, ours }
