-- SPDX-License-Identifier: MIT
-- Publish the grant of walk.fence to the waiter's client. `walk` is walk.lua's.
--@include walk
--@include digits

local function send_grant(walk, e, lease)
  return publish(walk, e.client, "1 grant " .. e.waiter .. " " .. e.token .. " " .. digits(walk.fence) ..
    string.format(" %.0f ", lease) .. digits(walk.now) .. " " .. walk.lock)
end
