-- SPDX-License-Identifier: MIT
-- A change of an event that stays, and its new generation.
--@include event

-- How long a clear event is remembered, so that its numbers go on rising.
local DAY_MS = 86400000

-- Greater than the last and not below the clock, so that numbers go on
-- rising when the record has been lost.
local function write_event(key, last, now, set, data, ttl)
  local generation = math.max(last + 1, now)
  local ends = ttl > 0 and math.floor(now / 1000) + ttl or 0
  redis.call("HSET", key, "generation", string.format("%.0f", generation), "set", set,
    "until", string.format("%.0f", ends), "data", data)
  if set == 1 and ttl == 0 then
    redis.call("PERSIST", key)
  else
    redis.call("PEXPIRE", key, ttl + DAY_MS)
  end
  return generation
end
