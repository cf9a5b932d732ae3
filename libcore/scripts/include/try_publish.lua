-- SPDX-License-Identifier: MIT
-- Publishing without failing: a refusal must not end the script half-way.

-- Returns the number of receivers, and 1 when the server refused it.
local function try_publish(channel, message)
  local receivers = redis.pcall("PUBLISH", channel, message)
  if type(receivers) ~= "number" then
    return 0, 1
  end
  return receivers, 0
end
