-- SPDX-License-Identifier: MIT
-- Greater than the last fence and the client's floor, and not below the clock.
local function next_fence(last, now, floor)
  return math.max(last + 1, now, floor + 1)
end
