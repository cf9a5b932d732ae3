-- SPDX-License-Identifier: MIT
-- Changing an event.
--@include event

-- How long the record of a clear event is kept.
local DAY_MS = 86400000

-- The new generation is greater than the last and not below the clock, so that
-- generations go on rising after the record was lost.
local function write_event(key, last, now, set, data, ttl)
  local generation = math.max(last + 1, now)
  local ends = ttl > 0 and math.floor(now / 1000) + ttl or 0
  local text = string.format("%.0f", generation)
  local fields = { "generation", text, "set", set, "until", string.format("%.0f", ends),
    "data", data }
  if set == 1 then
    fields[9], fields[10] = "set_at", text
  end
  redis.call("HSET", key, unpack(fields))
  if set == 1 and ttl == 0 then
    redis.call("PERSIST", key)
  else
    redis.call("PEXPIRE", key, ttl + DAY_MS)
  end
  return generation
end
