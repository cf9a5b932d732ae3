-- SPDX-License-Identifier: MIT
-- Remove an entry from the list of KEYS[at].
--@include signal_entry

-- Returns whether it was there.
local function leave_signal_list(at, text, client)
  local wait, crowd = KEYS[at], KEYS[at + 2]
  local count = tonumber(redis.call("HGET", crowd, client) or 0)
  if redis.call("ZREM", wait, text) == 0 then
    return false
  end
  if count > 1 then
    redis.call("HINCRBY", crowd, client, -1)
  else
    redis.call("HDEL", crowd, client)
  end
  return true
end
