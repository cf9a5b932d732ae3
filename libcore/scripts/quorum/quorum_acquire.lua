--@script quorum_acquire keys=7 args=11
--@reply HELD i i i
--@reply QUEUED i i i i
--@reply BUSY i i i
--@reply REFUSED i
-- SPDX-License-Identifier: MIT
-- Ask one node of a quorum for its vote, or join its wait queue, whose order is
-- that of the stamps. A vote counts when quorum_confirm has confirmed it.
-- KEYS lock, fence, wait, live, readers (of an election value, which is not used),
--   ilk:quorum:node, ilk:quorum:max
-- ARGV token, lease ms, who, floor (the highest fence the caller has seen),
--   entry ('' tries once), client, liveness ms, stamp, mark 0|1 (a holder takes a
--   lost node again, from all who have not confirmed its vote, and the vote cannot be
--   yielded), grant ms, limit
-- returns {HELD, lease left, given, now us}
--   | {QUEUED, holder's pttl (-2 free, -1 no expiry), now us, ours, greatest stamp}
--   | {BUSY, holder's pttl, now us, ours}
--   | {REFUSED, ms until the node may be taken in, -1 that nobody has joined}
-- A retry under the same token finds the vote, and a retried entry keeps its
-- place. A late copy takes a free vote, which nobody confirms, until its lease ends;
-- a late copy with the mark is another's lost time as well.
--@include no_fence
--@include now
--@include token
--@include fence
--@include given
--@include quorum_node
--@include confirmed_fence

local lock, record, wait, live = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local token, lease, who, floor = token_at(1), number_at(2, 1), ARGV[3], number_at(4, 0)
local entry, client, liveness, stamp = ARGV[5], ARGV[6], number_at(7, 1), number_at(8, 0)
local marks, grant_ms, limit = ARGV[9] == "1", number_at(10, 1), number_at(11, 1)
if misuse then
  return misuse
end

local now = now_us()
local refused = waits_to_join(KEYS[6], now)
if refused then
  return { REQUEST + REFUSED, refused }
end
floor = math.max(floor, confirmed_fence(KEYS[7]))
local last, last_token, given, is_held = read_grant(record)
if not last or floor >= FENCE_END then
  return no_fence(record)
end

local function acquire(left)
  local fence = next_fence(last, now, floor)
  local text = string.format("%.0f", fence)
  write_record(record, last, fence, token, now, who, left)
  if marks or last == 0 and fence ~= now then
    redis.call("HSET", record, "given", text, "held", marks and text or "")
  end
  return { REQUEST + HELD, left, fence, now }
end

if redis.call("EXISTS", wait) == 0 and redis.call("SET", lock, token, "NX", "PX", lease) then
  return acquire(lease)
end

local value = redis.call("GET", lock)
if value == token then
  local left = redis.call("PTTL", lock)
  if last_token ~= token then
    return acquire(left)
  elseif marks then
    redis.call("HSET", record, "held", string.format("%.0f", given))
  end
  return { REQUEST + HELD, left, given, now }
end

-- A vote that is not confirmed counts for nobody, so a holder may take it: its client
-- finds that when it confirms, or when it asks again.
if marks and (not value or value == last_token and not is_held) then
  redis.call("SET", lock, token, "PX", lease)
  return acquire(lease)
end

--@include enqueue
--@include raise_fence
--@include grant
--@include is_ours
local greatest = 0
if entry ~= "" then
  check_entry(entry, "ex", client, token)
  if misuse then
    return misuse
  end
  raise_fence(record, last, floor, lease, now)
  greatest = enqueue(wait, live, entry, client, now, liveness, stamp)
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
local pttl = redis.call("PTTL", lock)
if entry == "" then
  return { REQUEST + BUSY, pttl, now, ours }
end
return { REQUEST + QUEUED, pttl, now, ours, greatest }
