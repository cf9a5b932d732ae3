-- SPDX-License-Identifier: MIT
-- Free a lock in Redisson's layout. Redisson's waiters listen to a channel of
-- theirs; ours are woken in the order of the wait queue.
--@include grant

-- Returns more and denied.
local function free_redisson(channel, grant_ms, limit, liveness)
  redis.call("DEL", KEYS[1])
  local receivers = redis.pcall("PUBLISH", channel, "0")
  local more, denied = grant(1, grant_ms, limit, liveness, "barge")
  return more, type(receivers) == "number" and denied or 1
end
