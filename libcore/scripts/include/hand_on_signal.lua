-- SPDX-License-Identifier: MIT
-- Handing on a given signal whose waiter will not acknowledge it.
--@include give_signal
--@include orphan_field

-- Give it to the next waiter. It is dropped when nobody else waits.
local function hand_on(at, field, limit)
  local given = KEYS[at + 3]
  local message = field and redis.call("HGET", given, field)
  if not message then
    return
  end
  local signal = string.sub(message, string.find(message, " ", 1, true) + 1)
  redis.call("HDEL", given, field)
  local reached, denied, kept, more = give_signal(at, signal, limit)
  if reached == 0 and (denied > 0 or kept > 0 or more) then
    redis.pcall("HSET", given, orphan_field(field), message)
  end
end
