-- SPDX-License-Identifier: MIT
-- The numbers of arrivals at a barrier.

-- The next number. It is not below the clock, so numbers go on rising after the
-- record was lost.
local function next_number(b, now)
  b.last = b.first > 0 and b.last + 1 or math.max(b.last + 1, now)
  b.since = b.since > 0 and b.since or b.last
  return b.last
end
