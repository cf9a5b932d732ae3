-- SPDX-License-Identifier: MIT
-- The public state of an election.
--@include election
--@include fence_value

-- Term, version of what is published in it, 1 when somebody leads, its lease
-- left, since when, its token, its client's label, its value.
local function leadership()
  local token = redis.call("GET", place.lock)
  local field = redis.call("HMGET", place.record, "fence", "version", "since", "who", "token")
  local reply = { fence_value(field[1]) or 0, tonumber(field[2]) or 0, 0, 0, 0, "", "", "" }
  if token then
    local known = token == field[5]
    reply[3], reply[4], reply[6] = 1, redis.call("PTTL", place.lock), token
    reply[5], reply[7] = known and tonumber(field[3]) or 0, known and field[4] or ""
    reply[8] = redis.call("HGET", place.values, token) or ""
  end
  return reply
end
