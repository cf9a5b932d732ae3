--@script event_clear keys=4 args=2
--@reply STATE i i i
-- SPDX-License-Identifier: MIT
-- Clear an event. One that is not set stays as it is, its generation too.
-- KEYS event, once, wait, live    ARGV token of the request, limit
-- returns {STATE, generation, clients still to be notified, denied}
-- A retry under the same token clears nothing again, also when the event was
-- set in between; nor does a late copy, for a minute (done_requests.lua).
--@include replicate_effects
--@include token
--@include done_requests
--@include wake_all
--@include event_write

local event, once, wait, live = unpack(KEYS)
local token, limit = token_at(1), number_at(2, 1)
if misuse then
  return misuse
end

local done = recall(once, token)
if done then
  return { REQUEST + STATE, done, wake_clients(wait, live, limit) }
end
local now = now_us()
local last, set = read_event(event, now)
if not set then
  return { REQUEST + STATE, last, 0, 0 }
end
redis.call("HDEL", event, "data")
local generation = write_event(event, last, now, 0, "", 0)
remember(once, token, generation, now)
return { REQUEST + STATE, generation, wake_all(wait, live, limit) }
