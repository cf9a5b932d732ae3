-- SPDX-License-Identifier: MIT
-- The fence of a hold by its field in the record; 0: none is on record.
--@include fence_value

local function hold_fence(field)
  return fence_value(string.match(field or "", "^%S*")) or 0
end
