-- SPDX-License-Identifier: MIT
--@include send_signal

-- Send a given signal again, if there is one. Its waiter ignores a second copy.
local function send_again(at, client, field)
  local message = field and redis.call("HGET", KEYS[at + 3], field)
  if message then
    send_signal(client, message)
  end
  return message and true
end
