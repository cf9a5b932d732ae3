-- SPDX-License-Identifier: MIT
-- Counts rare events of messages. A failure is ignored.
--@include queue_keys

local function count_up(at, what, count)
  if count > 0 then
    redis.pcall("HINCRBY", KEYS[at + META], what, count)
  end
end
