-- SPDX-License-Identifier: MIT
-- Numbers of those who arrive at a barrier.

-- The next number. Rising with the clock, it does so when the record is lost.
local function next_number(b, now)
  b.last = b.first > 0 and b.last + 1 or math.max(b.last + 1, now)
  b.since = b.since > 0 and b.since or b.last
  return b.last
end
