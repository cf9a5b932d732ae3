--@script state_wake keys=4 args=1
--@reply RELEASED i i
-- SPDX-License-Identifier: MIT
-- Tell more clients of a change: those that the script which made it did not
-- tell.
-- KEYS state, once, wait, live    ARGV limit
-- returns {RELEASED, clients still to be told, denied}
-- A retry or a late copy tells the next; a waiter that is told in vain asks, and
-- waits on.
--@include reply
--@include number
--@include wake_clients

local limit = number_at(1, 1)
if misuse then
  return misuse
end

return { RELEASED, wake_clients(KEYS[3], KEYS[4], limit) }
