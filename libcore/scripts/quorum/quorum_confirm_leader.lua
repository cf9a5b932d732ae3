--@script quorum_confirm_leader keys=8 args=8
--@reply HELD i i i
--@reply LOST
--@reply REFUSED i
-- SPDX-License-Identifier: MIT
-- quorum_confirm for an election: the leader's value comes with the confirmation.
-- KEYS leader, fence, wait, live, value, seen, ilk:quorum:node, ilk:quorum:max
-- ARGV token, lease ms, renewal 0|1 (never shortens), given, term (quorum_confirm's
--   fence), version (of the value, in this term), value, limit
-- returns as quorum_confirm
-- The values are here {'' -> the last term, token -> `term version value`}, of the
-- token that was confirmed last.
-- A retry writes the same again, and wakes nobody twice. A late copy does not replace
-- a later version.
--@include now
--@include token
--@include confirm_vote
--@include observers

local token, lease, renews = token_at(1), number_at(2, 1), number_at(3, 0) == 1
local given, term = number_at(4, 1), number_at(5, 1)
local version, value, limit = number_at(6, 0), ARGV[7], number_at(8, 1)
if misuse then
  return misuse
end

local now = now_us()
check_types()
local key = { lock = place.lock, record = place.record, node = KEYS[7], most = KEYS[8] }
local refusal, left, last = confirm_vote(key, now, token, lease, renews, given, term)
if refusal then
  return refusal
end

local text = string.format("%.0f", term)
local known = redis.call("HGET", place.values, token) or ""
local known_version = string.match(known, "^" .. text .. " (%d+) ")
if tonumber(known_version or -1) < version then
  redis.call("DEL", place.values)
  redis.call("HSET", place.values, "", text, token, text .. string.format(" %.0f ", version) .. value)
  tell_observers(limit)
end
keep_record(place.values, left)
return { REQUEST + HELD, left, last, now }
