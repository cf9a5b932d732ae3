--@script state_wake keys=4 args=1
--@reply RELEASED i i
-- SPDX-License-Identifier: MIT
-- Tell those of a change whom the script that made it left untold.
-- KEYS state, once, wait, live    ARGV limit
-- returns {RELEASED, clients still to be told, denied}
-- A retry tells the next; who is told too much asks and waits on.
--@include reply
--@include number
--@include wake_clients

local limit = number_at(1, 1)
if misuse then
  return misuse
end

return { RELEASED, wake_clients(KEYS[3], KEYS[4], limit) }
