-- SPDX-License-Identifier: MIT
-- The fence record: a hash {fence, token, since, who}, written at each grant;
-- born, the server's time in us when the record was created; given and held, see
-- given.lua; kept, the server's time in ms until which the record lives at least; after
-- a break
-- {broken, victim, breaker}: the fence then, the token of that hold, and the
-- request that did it.
--@include keep_record
--@include fence_value

-- The fence (see fence_value()), the token, and `polled` (see pollers.lua; mostly false).
local function read_record(key)
  local record = redis.call("HMGET", key, "fence", "token", "polled")
  return fence_value(record[1]), record[2], record[3]
end
