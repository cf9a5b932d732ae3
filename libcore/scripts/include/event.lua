-- SPDX-License-Identifier: MIT
-- An event: hash {generation, set 0|1, until, data, set_at}. `until` is the server ms
-- from which it counts as clear again, 0 for never; `set_at` the generation of the
-- last set, which a clear leaves.
--@include now

-- Returns the generation, whether it is set, for how many ms it will stay
-- set (-1: until it is cleared), and the generation of the last set.
local function read_event(key, now)
  local event = redis.call("HMGET", key, "generation", "set", "until", "set_at")
  local generation, ends = tonumber(event[1]) or 0, tonumber(event[3]) or 0
  local left = ends == 0 and -1 or math.max(ends - math.floor(now / 1000), 0)
  return generation, event[2] == "1" and left ~= 0, left, tonumber(event[4]) or 0
end
