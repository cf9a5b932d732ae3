--@script quorum_acquire keys=7 args=11
--@reply HELD i i i
--@reply QUEUED i i i i
--@reply BUSY i i i
--@reply REFUSED i
-- SPDX-License-Identifier: MIT
-- Ask one node of a quorum for its vote, or join its wait queue, whose order is
-- that of the stamps. A vote counts when quorum_confirm has confirmed it, or when
-- it is reserved and a majority of nodes gives the same fence.
-- KEYS lock, fence, wait, live, readers (of an election value, which is not used),
--   ilk:quorum:node, ilk:quorum:max
-- ARGV token, lease ms, who, floor (the highest fence the caller has seen),
--   entry ('' tries once), client, liveness ms, stamp, mark 0|1|2 (0: the vote is open;
--   1: a holder takes a lost node again, also an open vote of another's, and the vote
--   is confirmed; 2: the first command of an attempt here, whose vote is reserved),
--   grant ms, limit
-- returns {HELD, lease left, given, now us}
--   | {QUEUED, holder's pttl (-2 free, -1 no expiry), now us, ours, greatest stamp}
--   | {BUSY, holder's pttl, now us, ours}
--   | {REFUSED, ms until the node may be taken in, -1 that nobody has joined}
-- A retry under the same token finds the vote, and a retried entry keeps its
-- place. A late copy takes a free vote, which nobody confirms, until its lease ends. If
-- it has a mark, no other client can get that vote before: it costs the time of a hold.
-- The stamp is the least fence of a vote that is granted at once, in place of the
-- node's clock, so that nodes with the same past give the same fence.
--@include no_fence
--@include now
--@include token
--@include fence
--@include quorum_node
--@include greatest_fence
--@include set_mark

local lock, record, wait, live = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local token, lease, who, floor = token_at(1), number_at(2, 1), ARGV[3], number_at(4, 0)
local entry, client, liveness, stamp = ARGV[5], ARGV[6], number_at(7, 1), number_at(8, 0)
local wants, grant_ms, limit = number_at(9, 0), number_at(10, 1), number_at(11, 1)
if misuse then
  return misuse
end

local now = now_us()
local refused, base = waits_to_join(KEYS[6], now)
if refused then
  return { REQUEST + REFUSED, refused }
end
local most = { key = KEYS[7], fence = greatest_fence(KEYS[7]) }
floor = math.max(floor, most.fence)
local last, last_token, given, mark = read_grant(record)
if not last or math.max(floor, stamp) >= FENCE_END then
  return no_fence(record)
end

local function acquire(left)
  local fence = next_fence(last, stamp, floor)
  write_record(record, last, fence, token, now, who, left)
  if wants ~= OPEN or last == 0 and fence ~= now then
    set_mark(record, most, fence, wants)
  end
  return { REQUEST + HELD, left, fence, now }
end

if redis.call("EXISTS", wait) == 0 and redis.call("SET", lock, token, "NX", "PX", lease) then
  return acquire(lease)
end

local value = redis.call("GET", lock)
if value == token then
  local left = redis.call("PTTL", lock)
  if last_token ~= token or given <= base then
    return acquire(left)
  elseif wants ~= OPEN and mark ~= CONFIRMED then
    set_mark(record, most, given, wants)
  end
  return { REQUEST + HELD, left, given, now }
end

-- An open vote counts for nobody, so a holder may take it: its client finds that when
-- it confirms, or when it asks again.
if wants == CONFIRMED and (not value or value == last_token and mark == OPEN) then
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
    if wants ~= OPEN then
      set_mark(record, most, fence, wants)
    end
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
