-- SPDX-License-Identifier: MIT
-- Publish a wake-up: the waiter asks again.
--@include walk

local function send_wake(walk, e)
  return publish(walk, e.client, "1 wake " .. e.waiter .. " " .. walk.lock)
end
