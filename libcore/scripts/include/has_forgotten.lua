-- SPDX-License-Identifier: MIT
--@include done_requests

-- 1 when requests of the last minute may be forgotten, because so many came: then
-- a retry that is not remembered may have an earlier copy that was executed.
local function has_forgotten(once)
  return redis.call("ZCARD", once) >= ONCE_MOST and 1 or 0
end
