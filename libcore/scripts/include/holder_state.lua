-- SPDX-License-Identifier: MIT
-- For a waiter: when permits may come back, as a lock's pttl, and 1 when their
-- release will grant them to the wait queue.
local function holder_state(key, ms, walk)
  if walk and walk.kept > 0 and walk.free > 0 and not walk.blocked then
    return -2, 0
  end
  local first = tonumber(redis.call("ZRANGE", key, 0, 0, "WITHSCORES")[2])
  return first and first - ms or -2, 1
end
