-- SPDX-License-Identifier: MIT
-- Changing a register.
--@include now
--@include has_forgotten
--@include wake_all
--@include register

-- How long the record of a register without a value is kept.
local DAY_MS = 86400000

-- Greater than the last version and not below the clock, so that versions go on
-- rising after the record was lost; nil: none is left.
local function next_version(last, now)
  local version = math.max(last + 1, now)
  return version < FENCE_END and version or nil
end
