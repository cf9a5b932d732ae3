--@script many_release keys=5* args=4
--@reply RELEASED i i
--@reply LOST i i i i
-- SPDX-License-Identifier: MIT
-- Release several locks and grant each to its first waiter.
-- KEYS lock, fence, wait, live, readers of each name
-- ARGV token, grant ms, limit, liveness ms
-- returns {RELEASED, more, denied}
--   | {LOST, born (the latest), broken (the latest), how many were not ours,
--   more}: see include/evidence.lua; the others are released all the same
-- A retry or a late copy finds the token gone and touches nobody's lock.
--@include token
--@include evidence
--@include grant

local token, grant_ms, limit, liveness = token_at(1), number_at(2, 1), number_at(3, 1), number_at(4, 1)
if not misuse and #KEYS % 5 ~= 0 then
  misuse = redis.error_reply("ILKARG keys come in fives, got " .. #KEYS)
end
if misuse then
  return misuse
end

local not_ours, more, denied, born, broken = 0, 0, 0, 0, 0
local mine = {}
for at = 1, #KEYS, 5 do
  mine[at] = redis.call("GET", KEYS[at]) == token
end
for at = 1, #KEYS, 5 do
  if mine[at] then
    redis.call("DEL", KEYS[at])
    local left_over, refused = grant(at, grant_ms, limit, liveness, nil, nil, "open")
    more, denied = math.max(more, left_over), math.max(denied, refused)
  else
    local found = lost(KEYS[at + 1], token)
    not_ours = not_ours + 1
    born = (not_ours == 1 or born > 0 and found[2] > 0) and math.max(born, found[2]) or 0
    broken = (broken < 0 or found[3] < 0) and -1 or math.max(broken, found[3])
  end
end
if not_ours > 0 then
  return { REQUEST + LOST, born, broken, not_ours, more }
end
return { REQUEST + RELEASED, more, denied }
