-- SPDX-License-Identifier: MIT
-- The waiters of a signal. wait is a zset ticket -> entry, in which
--   1 s <client> <waiter> ...
-- is one wait; live contains until when a client counts as alive; crowd is a
-- hash client -> number of its entries in wait, and `ticket`, the last ticket of
-- a list that was emptied.
local function parse_signal_entry(text)
  return string.match(text, "^1 s (%S+) (s%d+) ")
end
