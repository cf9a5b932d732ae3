-- SPDX-License-Identifier: MIT
--@include group_remove

local DEAD_MOST = 500

-- Remove members whose lease has ended, and notify those who watch. Returns whether
-- there may be more of them.
local function remove_dead(now, limit)
  local dead = redis.call("ZRANGEBYSCORE", group.members, "-inf",
    digits(math.floor(now / 1000)), "LIMIT", 0, DEAD_MOST)
  if #dead > 0 then
    check_types()
    remove_members(dead, now)
    wake_all(group.wait, group.live, limit)
  end
  return #dead == DEAD_MOST
end
