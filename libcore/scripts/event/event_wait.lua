--@script event_wait keys=4 args=7
--@reply STATE i i i s
--@reply QUEUED i i i i
--@reply BUSY i i i i
-- SPDX-License-Identifier: MIT
-- Wait until an event is set, or until its generation is past a known one.
-- KEYS event, once, wait, live
-- ARGV entry ('': do not wait), client, liveness ms, limit (keeps its place),
--   token, the generation known ('': wait until it is set), the generation by which
--   this wait was in the queue ('': it was not yet)
-- returns {STATE, as event_read} | {QUEUED or BUSY, -1, now us, 1, generation}
-- A wait that was in the queue when the event was set ends, even if the event was
-- cleared again before the waiter asks.
-- A retry keeps its place, or finds the change. The entry of a late copy stays
-- until the next change.
--@include replicate_effects
--@include token
--@include enqueue
--@include event_reply

local event, _, wait, live = unpack(KEYS)
local entry, client, liveness = ARGV[1], ARGV[2], number_at(3, 1)
local token, known = token_at(5), ARGV[6] ~= "" and number_at(6, 0) or nil
local since = ARGV[7] ~= "" and number_at(7, 0) or nil
if entry ~= "" then
  check_entry(entry, "o", client, token)
end
if misuse then
  return misuse
end

local now = now_us()
local generation, set, left, set_at = read_event(event, now)
local come = set or since and set_at > since
if known then
  come = generation > known
end
if come and entry ~= "" then
  redis.call("ZREM", wait, entry)
elseif not come and entry ~= "" then
  enqueue(wait, live, entry, client, now, liveness)
end
if come then
  return event_reply(event, generation, set, left)
end
return { REQUEST + (entry == "" and BUSY or QUEUED), -1, now, 1, generation }
