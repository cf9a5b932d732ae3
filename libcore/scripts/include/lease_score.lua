-- SPDX-License-Identifier: MIT
-- The score of a reservation in leases; see lease_until.lua.
--@include lease_until

local function lease_score(until_ms, count)
  return string.format("%.0f", until_ms * SPAN + count)
end
