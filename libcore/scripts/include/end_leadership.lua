-- SPDX-License-Identifier: MIT
-- Nobody leads any more: clear the record's token, and wake the observers once.
-- `token` is the record's.
--@include observers

local function end_leadership(token, limit)
  if token and token ~= "" then
    redis.call("HDEL", place.values, token)
    redis.pcall("HSET", place.record, "token", "")
    tell_observers(limit)
  end
end
