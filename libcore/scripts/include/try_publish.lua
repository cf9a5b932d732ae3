-- SPDX-License-Identifier: MIT
-- A message; a refusal does not end the script half-way.

-- The number of those who heard it, and 1 when the server refused to carry it.
local function try_publish(channel, message)
  local receivers = redis.pcall("PUBLISH", channel, message)
  if type(receivers) ~= "number" then
    return 0, 1
  end
  return receivers, 0
end
