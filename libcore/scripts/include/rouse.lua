-- SPDX-License-Identifier: MIT
-- Wake one who waits: it is to ask again.
--@include reach

local function rouse(walk, e)
  return publish(walk, e.client, "1 wake " .. e.waiter .. " " .. walk.lock)
end
