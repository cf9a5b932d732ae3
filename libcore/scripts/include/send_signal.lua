-- SPDX-License-Identifier: MIT
--@include try_inbox

-- message is a signal's, behind `1 signal `.
local function send_signal(client, message)
  return try_inbox(client, "1 signal " .. message)
end
