--@script state_wake keys=4 args=1
--@reply RELEASED i i
-- SPDX-License-Identifier: MIT
-- Notify more clients of a change: those that the script which made it left
-- out.
-- KEYS state, once, wait, live    ARGV limit
-- returns {RELEASED, clients still to be notified, denied}
-- A retry or a late copy notifies the next ones; a waiter that is woken in vain
-- sends its script again and waits on.
--@include number
--@include wake_clients

local limit = number_at(1, 1)
if misuse then
  return misuse
end

return { REQUEST + RELEASED, wake_clients(KEYS[3], KEYS[4], limit) }
