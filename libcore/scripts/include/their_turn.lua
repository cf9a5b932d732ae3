-- SPDX-License-Identifier: MIT
-- When a release leaves the name free for other libraries, see pollers.lua.
--@include kept_free

-- Our turn is as long as theirs was, but TURN_LEAST_MS at least and TURN_MOST_MS at most.
-- If nobody took the name in the last FREE_MS that were left to them, our next turn lasts
-- four times FREE_MS, so that the name is then idle for a fifth of the time at most.
local TURN_LEAST_MS, TURN_MOST_MS, FORGET_MS = 150, 5000, 60000

local function is_their_turn(polled, ms)
  local first, last, open = parse_polled(polled)
  if not first or ms - last >= FORGET_MS or ms < last then
    return false
  end
  local turn = open > last and 4 * FREE_MS or
    math.min(math.max(last - first, TURN_LEAST_MS), TURN_MOST_MS)
  return ms - math.max(last, open) >= turn
end

local function leave_free(record, polled, ms)
  redis.pcall("HSET", record, "polled",
    string.match(polled, "^%d+ %d+ ") .. string.format("%.0f", ms + FREE_MS))
end
