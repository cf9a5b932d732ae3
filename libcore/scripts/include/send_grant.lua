-- SPDX-License-Identifier: MIT
-- Publish a grant to the waiter's client. `walk` is walk.lua's.
--@include walk

local function send_grant(walk, e, fence_text, lease)
  return publish(walk, e.client, "1 grant " .. e.waiter .. " " .. e.token .. " " .. fence_text ..
    string.format(" %.0f ", lease) .. walk.now_text .. " " .. walk.lock)
end
