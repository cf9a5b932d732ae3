--@script quorum_confirm keys=4 args=5
--@reply HELD i i i
--@reply LOST
--@reply REFUSED i
-- SPDX-License-Identifier: MIT
-- Confirm one node's vote: it cannot be yielded any more, has its full lease, and
-- the hold's fence is on record here. A client that has confirmed a majority holds.
-- The holder extends its lease by this as well.
-- KEYS lock, fence, ilk:quorum:node, ilk:quorum:max
-- ARGV token, lease ms, renewal 0|1 (never shortens), given (the fence that came
--   with this vote), fence (the greatest that came with any vote)
-- returns {HELD, lease, fence on record, now us}
--   | {LOST} (not the caller's, another grant, or one from before the node was
--     taken in) | {REFUSED, as quorum_acquire}
-- A retry does the same again. A late copy finds the same grant or changes nothing.
--@include no_fence
--@include now
--@include token
--@include keep_record
--@include given
--@include quorum_node
--@include confirmed_fence

local lock, record, most = KEYS[1], KEYS[2], KEYS[4]
local token, lease, renews = token_at(1), number_at(2, 1), number_at(3, 0) == 1
local given, fence = number_at(4, 1), number_at(5, 1)
if misuse then
  return misuse
end

local now = now_us()
local refused, base = waits_to_join(KEYS[3], now)
if refused then
  return { REQUEST + REFUSED, refused }
end
if redis.call("GET", lock) ~= token then
  return { REQUEST + LOST }
end
local last, record_token, last_given = read_grant(record)
if not last or fence >= FENCE_END then
  return no_fence(record)
end
if record_token ~= token or last_given ~= given or given <= base then
  return { REQUEST + LOST }
end

if renews then
  lease = math.max(lease, redis.call("PTTL", lock))
end
redis.call("PEXPIRE", lock, lease)
last = math.max(last, fence)
redis.call("HSET", record, "fence", string.format("%.0f", last), "held", string.format("%.0f", given))
keep_record(record, lease)
if fence > confirmed_fence(most) then
  redis.call("SET", most, string.format("%.0f", fence))
end
return { REQUEST + HELD, lease, last, now }
