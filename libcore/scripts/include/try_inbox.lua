-- SPDX-License-Identifier: MIT
-- Publishing to the inbox of a client that is alive.
--@include reached
--@include try_publish

-- Returns as try_publish.
local function try_inbox(client, message)
  local receivers, denied = try_publish("ilk:inbox:" .. client, message)
  if denied == 0 and receivers < REACHED_LEAST then
    receivers = REACHED_LEAST
  end
  return receivers, denied
end
