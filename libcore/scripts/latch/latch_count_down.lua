--@script latch_count_down keys=4 args=5
--@reply STATE i i i
--@reply DIFFERS i
-- SPDX-License-Identifier: MIT
-- Count a latch down, and notify the waiters when it reaches 0.
-- KEYS latch, once, wait, live
-- ARGV token of the request, by how many, initial count, keep ms, limit
-- returns {STATE, left, clients still to be notified, denied}
--   | {DIFFERS, the initial count on record}
-- A retry under the same token counts nothing again; nor does a late copy, for
-- a minute (done_requests.lua).
--@include replicate_effects
--@include token
--@include now
--@include done_requests
--@include wake_all
--@include latch_write

local latch, once, wait, live = unpack(KEYS)
local token, by, count = token_at(1), number_at(2, 1), number_at(3, 1)
local keep, limit = number_at(4, 1), number_at(5, 1)
if misuse then
  return misuse
end

local left, initial = read_latch(latch, count)
if initial ~= count then
  return { REQUEST + DIFFERS, initial }
end
if recall(once, token) then
  local rest, denied = 0, 0
  if left == 0 then
    rest, denied = wake_clients(wait, live, limit)
  end
  return { REQUEST + STATE, left, rest, denied }
end
local now, now_left = now_us(), math.max(left - by, 0)
-- A server out of memory lets a script go on after its first write, and HDEL
-- needs no memory: counting down must work there too.
redis.call("HDEL", latch, "keep")
write_latch(latch, now_left, initial, keep)
remember(once, token, now, now)
if now_left > 0 or left == 0 then
  return { REQUEST + STATE, now_left, 0, 0 }
end
return { REQUEST + STATE, 0, wake_all(wait, live, limit) }
