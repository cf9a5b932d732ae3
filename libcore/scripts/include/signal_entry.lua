-- SPDX-License-Identifier: MIT
-- Who waits for a signal. wait is a zset ticket -> entry, in which
--   1 s <client> <waiter> ...
-- is one wait; live says until when its client counts as alive; crowd is a
-- hash client -> how many entries of its stand in wait, and `ticket`, the
-- last one of a list that was emptied.
local function parse_signal_entry(text)
  return string.match(text, "^1 s (%S+) (s%d+) ")
end
