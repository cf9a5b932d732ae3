--@script latch_reset keys=4 args=4
--@reply STATE i i i
-- SPDX-License-Identifier: MIT
-- Restart a latch with this count. Its waiters are notified, send latch_wait
-- again, and go on waiting if they have the same count.
-- KEYS latch, once, wait, live
-- ARGV token of the request, initial count, keep ms, limit
-- returns {STATE, left, clients still to be notified, denied}
-- A retry under the same token restarts nothing; nor does a late copy, for a
-- minute (done_requests.lua).
--@include replicate_effects
--@include token
--@include now
--@include done_requests
--@include wake_all
--@include latch_write

local latch, once, wait, live = unpack(KEYS)
local token, count = token_at(1), number_at(2, 1)
local keep, limit = number_at(3, 1), number_at(4, 1)
if misuse then
  return misuse
end

if recall(once, token) then
  local left = read_latch(latch, count)
  return { REQUEST + STATE, left, wake_clients(wait, live, limit) }
end
local now = now_us()
write_latch(latch, count, count, keep)
remember(once, token, now, now)
return { REQUEST + STATE, count, wake_all(wait, live, limit) }
