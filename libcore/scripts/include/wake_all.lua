-- SPDX-License-Identifier: MIT
-- Tell all waiters of a change, so that they ask again: one message for each
-- client, however many of its waiters are in the wait queue.
--
-- All entries leave the wait queue at once. So if a message is lost, the client's
-- next refresh finds its waiters GONE, and no change is missed. Clients that were
-- told leave `live`; when they ask again they are added again.
--@include wake_clients

local function wake_all(wait, live, limit)
  redis.call("UNLINK", wait)
  return wake_clients(wait, live, limit)
end
