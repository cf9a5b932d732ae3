-- SPDX-License-Identifier: MIT
-- The state of an event as a reply.
--@include event

local function event_reply(key, generation, set, left)
  return { REQUEST + STATE, generation, set and 1 or 0, set and left or 0,
    set and redis.call("HGET", key, "data") or "" }
end
