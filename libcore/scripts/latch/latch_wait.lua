--@script latch_wait keys=4 args=7
--@reply STATE i
--@reply QUEUED i i i
--@reply BUSY i i i
--@reply DIFFERS i
-- SPDX-License-Identifier: MIT
-- Wait until nothing is left to count.
-- KEYS latch, once, wait, live
-- ARGV entry ('': do not wait), client, liveness ms, limit (keeps its place),
--   token, initial count, keep ms
-- returns {STATE, 0} | {QUEUED or BUSY, -1, now us, 1}
--   | {DIFFERS, the initial count on record}
-- A retry keeps its place, or finds that nothing is left. The entry of a late
-- copy stays until the next change.
--@include replicate_effects
--@include token
--@include now
--@include enqueue
--@include latch_write

local latch, _, wait, live = unpack(KEYS)
local entry, client, liveness = ARGV[1], ARGV[2], number_at(3, 1)
local token, count, keep = token_at(5), number_at(6, 1), number_at(7, 1)
if entry ~= "" then
  check_entry(entry, "o", client, token)
end
if misuse then
  return misuse
end

local left, initial = read_latch(latch, count)
if initial ~= count then
  return { REQUEST + DIFFERS, initial }
end
if left == 0 then
  if entry ~= "" then
    redis.call("ZREM", wait, entry)
  end
  return { REQUEST + STATE, 0 }
end
local now = now_us()
if entry == "" then
  return { REQUEST + BUSY, -1, now, 1 }
end
write_latch(latch, left, initial, keep)
enqueue(wait, live, entry, client, now, liveness)
return { REQUEST + QUEUED, -1, now, 1 }
