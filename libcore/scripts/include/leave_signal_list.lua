-- SPDX-License-Identifier: MIT
-- Remove an entry from the list of KEYS[at].
--@include signal_entry
--@include set_crowd

-- Returns whether it was there.
local function leave_signal_list(at, text, client)
  local count, secret = in_crowd(KEYS[at + 2], client) -- fails on a wrong type before the entry leaves
  if redis.call("ZREM", KEYS[at], text) == 0 then
    return false
  end
  set_crowd(KEYS[at + 2], client, count - 1, secret)
  return true
end
