-- SPDX-License-Identifier: MIT
-- Count what does not happen to every message; not worth failing for.
--@include queue_keys

local function count_up(at, what, count)
  if count > 0 then
    redis.pcall("HINCRBY", KEYS[at + META], what, count)
  end
end
