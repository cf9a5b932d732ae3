-- SPDX-License-Identifier: MIT
-- The fence of a hold by its field in the record; 0: none is on record.
local function hold_fence(field)
  return tonumber(string.match(field or "", "^%d+")) or 0
end
