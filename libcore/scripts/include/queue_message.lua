-- SPDX-License-Identifier: MIT
-- A message is `1 <id> <attempts> <pushed ms> <data>`; attempts are the
-- deliveries that have ended. One of another version is moved as it is.

-- Returns the message with `change` more attempts, or with 0 if change is nil;
-- and its attempts.
local function with_attempts(blob, change)
  local head, attempts, rest = string.match(blob, "^(1 %d+ )(%d+)()")
  if not head then
    return blob, 0
  end
  attempts = change and attempts + change or 0
  return head .. string.format("%.0f", attempts) .. string.sub(blob, rest), attempts
end
