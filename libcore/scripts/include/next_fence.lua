-- SPDX-License-Identifier: MIT
-- Greater than the last, not below the clock nor what the client has seen.
local function next_fence(last, now, floor)
  return math.max(last + 1, now, floor + 1)
end
