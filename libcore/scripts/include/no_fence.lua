-- SPDX-License-Identifier: MIT
-- The error when the fence on record is none, or when there is no room above it.
--@include fence_value

local function no_fence(key)
  return redis.error_reply("ILKFENCE no fence can rise above the one in " .. key)
end
