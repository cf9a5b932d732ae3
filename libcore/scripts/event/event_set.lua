--@script event_set keys=4 args=4
--@reply STATE i i i
-- SPDX-License-Identifier: MIT
-- Set an event: it stays until it is cleared, or for its time.
-- KEYS event, once, wait, live
-- ARGV token of the request, data, ttl ms (0: no end), limit
-- returns {STATE, generation, clients still to be notified, denied}
-- A retry under the same token sets nothing again, whatever came in between; it
-- notifies waiters that were left out. So does a late copy, for a minute
-- (done_requests.lua); after that it would set the event again.
--@include replicate_effects
--@include token
--@include done_requests
--@include wake_all
--@include event_write

local event, once, wait, live = unpack(KEYS)
local token, data = token_at(1), ARGV[2]
local ttl, limit = number_at(3, 0), number_at(4, 1)
if misuse then
  return misuse
end

local done = recall(once, token)
if done then
  return { REQUEST + STATE, done, wake_clients(wait, live, limit) }
end
local now = now_us()
local last = read_event(event, now)
local generation = write_event(event, last, now, 1, data, ttl)
remember(once, token, generation, now)
return { REQUEST + STATE, generation, wake_all(wait, live, limit) }
