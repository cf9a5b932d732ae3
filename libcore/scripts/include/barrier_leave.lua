-- SPDX-License-Identifier: MIT
-- Leaving a barrier. A token that broke its round by this gets one half added to its
-- number, so that a repeated leave finds that it was done.
--@include entry
--@include barrier

-- Break the round that this token waits in, and no other.
local function leave_round(b, token, who, limit)
  local number = tonumber(redis.call("ZSCORE", KEYS[2], token) or nil)
  if number and b.first > 0 and number >= b.first then
    end_round(b, "broken left " .. who, limit)
    redis.call("ZADD", KEYS[2], "XX", string.format("%.1f", number + 0.5), token)
  end
  return { REQUEST + GONE }
end
