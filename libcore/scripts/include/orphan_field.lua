-- SPDX-License-Identifier: MIT
-- The field of a given signal whose waiter is gone and for which no other can be reached
-- now. It is kept under a client that is never alive, so the next refresh tries again.
local function orphan_field(field)
  return string.sub(field, 1, 2) == "- " and field or "- " .. string.gsub(field, " ", ".")
end
