-- SPDX-License-Identifier: MIT
-- The waiters of a signal. wait is a zset ticket -> entry, in which
--   2 s <client> <waiter> ...
-- is one wait; an earlier version's begins with 1, and acknowledges nothing. live
-- contains until when a client counts as alive. The secret in <waiter> is for wake-ups;
-- that for signals is in crowd (crowd.lua).
-- given is a hash <client> s<id> -> signal, the signals that were sent to one
-- waiter and not acknowledged yet, each as its message behind `1 signal `.

-- Returns client, waiter and its field in given; nil for other versions.
local function parse_signal_entry(text)
  local client, waiter = string.match(text, "^2 s (%S+) (s%d+%.%S+) ")
  if client then
    return client, waiter, client .. " " .. string.match(waiter, "^s%d+")
  end
end
