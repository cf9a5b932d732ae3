-- SPDX-License-Identifier: MIT
-- All who wait for a change are told of it and ask again: one message for a
-- client, however many of its waiters stand in the wait queue.
--
-- Their entries leave the wait queue at once. So a message that is lost costs
-- its client the time to its next refresh, which finds them GONE, and never the
-- change. Clients that are told leave `live`; asking again puts them back.
--@include wake_clients

local function wake_all(wait, live, limit)
  redis.call("UNLINK", wait)
  return wake_clients(wait, live, limit)
end
