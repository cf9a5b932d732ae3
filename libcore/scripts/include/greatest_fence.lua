-- SPDX-License-Identifier: MIT
-- ilk:quorum:max, the greatest fence that a node of a quorum has confirmed or reserved.
--@include fence_value

-- 0 without one.
local function greatest_fence(key)
  return fence_value(redis.call("GET", key) or "0") or 0
end
