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
--@include now
--@include token
--@include confirm_vote

local token, lease, renews = token_at(1), number_at(2, 1), number_at(3, 0) == 1
local given, fence = number_at(4, 1), number_at(5, 1)
if misuse then
  return misuse
end

local now = now_us()
local key = { lock = KEYS[1], record = KEYS[2], node = KEYS[3], most = KEYS[4] }
local refusal, left, last = confirm_vote(key, now, token, lease, renews, given, fence)
return refusal or { REQUEST + HELD, left, last, now }
