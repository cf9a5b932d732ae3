-- SPDX-License-Identifier: MIT
-- The time of the next message that becomes due.
--@include queue_keys
--@include lease_score

-- Milliseconds until more becomes due in any of the queues; -1 for never.
local function next_due(queues, now_ms)
  local first
  for at = 0, (queues - 1) * QUEUE_KEYS, QUEUE_KEYS do
    local lease = redis.call("ZRANGEBYSCORE", KEYS[at + LEASES], "(" .. lease_score(now_ms, SPAN - 1),
      "+inf", "WITHSCORES", "LIMIT", 0, 1)[2]
    local delayed = redis.call("ZRANGEBYSCORE", KEYS[at + DELAYED], "(" .. now_ms, "+inf",
      "WITHSCORES", "LIMIT", 0, 1)[2]
    local sooner = math.min(lease and lease_until(tonumber(lease)) or math.huge,
      delayed and math.ceil(tonumber(delayed)) or math.huge) -- see postpone.lua
    first = math.min(first or sooner, sooner)
  end
  return first < math.huge and first - now_ms or -1
end
