-- SPDX-License-Identifier: MIT
-- ilk:quorum:max, the greatest fence that was confirmed at a node of a quorum.
--@include fence_value

-- 0 without one.
local function confirmed_fence(key)
  return fence_value(redis.call("GET", key) or "0") or 0
end
