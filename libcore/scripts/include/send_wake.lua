-- SPDX-License-Identifier: MIT
-- Wake one who waits: it is to ask again.
--@include walk

local function send_wake(walk, e)
  return publish(walk, e.client, "1 wake " .. e.waiter .. " " .. walk.lock)
end
