--@script many_release keys=5* args=4
--@reply RELEASED i i
--@reply LOST i i
-- SPDX-License-Identifier: MIT
-- Give several locks up and hand each to the first who waits for it.
-- KEYS lock, fence, wait, live, readers of each name
-- ARGV token, grant ms, limit, liveness ms
-- returns {RELEASED, more, denied} | {LOST, how many were not ours, more};
--   the others are released all the same
-- A retry finds the token gone and touches nobody's lock.
--@include token
--@include grant

local token, grant_ms, limit, liveness = token_at(1), number_at(2, 1), number_at(3, 1), number_at(4, 1)
if not misuse and #KEYS % 5 ~= 0 then
  misuse = redis.error_reply("ILKARG keys come in fives, got " .. #KEYS)
end
if misuse then
  return misuse
end

local lost, more, denied = 0, 0, 0
local mine = {}
for at = 1, #KEYS, 5 do
  mine[at] = redis.call("GET", KEYS[at]) == token
end
for at = 1, #KEYS, 5 do
  if mine[at] then
    redis.call("DEL", KEYS[at])
    local left_over, refused = grant(at, grant_ms, limit, liveness)
    more, denied = math.max(more, left_over), math.max(denied, refused)
  else
    lost = lost + 1
  end
end
if lost > 0 then
  return { LOST, lost, more }
end
return { RELEASED, more, denied }
