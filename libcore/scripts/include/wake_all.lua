-- SPDX-License-Identifier: MIT
-- Notify all waiters of a change, so that they try again: one message for each
-- client, however many of its waiters are in the wait queue.
--
-- All entries leave the wait queue at once. So if a message is lost, the client's
-- next refresh finds its waiters GONE, and no change is missed. Clients that were
-- notified leave `live`; their next script adds them again.
--@include wake_clients

local function wake_all(wait, live, limit)
  redis.call("UNLINK", wait)
  return wake_clients(wait, live, limit)
end
