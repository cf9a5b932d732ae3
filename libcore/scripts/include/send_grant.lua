-- SPDX-License-Identifier: MIT
-- Publish a grant to the waiter's client. `walk` is walk.lua's.
--@include walk

local function send_grant(walk, e, fence, lease)
  return publish(walk, e.client, string.format("1 grant %s %s %.0f %.0f %.0f ",
    e.waiter, e.token, fence, lease, walk.now) .. walk.lock)
end
