-- SPDX-License-Identifier: MIT
-- Leaving a barrier.
--@include entry
--@include barrier

-- Break the round that this token waits in, and no other.
local function leave_round(b, token, who, limit)
  local number = tonumber(redis.call("ZSCORE", KEYS[2], token) or nil)
  if number and b.first > 0 and number >= b.first then
    end_round(b, "broken left " .. who, limit)
  end
  return { REQUEST + GONE }
end
