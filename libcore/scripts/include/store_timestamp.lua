-- SPDX-License-Identifier: MIT
-- The timestamps that a store gives.
--@include store
--@include store_place
--@include fence_end

-- A timestamp that nobody has, greater than `above`; nil: none is left. Of several
-- servers each gives those that leave its own number as the remainder.
local function give_timestamp(store, now, above)
  local last = tonumber(redis.call("HGET", store, "last") or 0) or 0
  local least = math.max(now, last + 1, above + 1)
  local given = least + (place.number - least) % place.count
  if given >= FENCE_END then
    return nil
  end
  redis.call("HSET", store, "last", digits(given))
  if last == 0 then
    redis.call("PEXPIRE", store, 86400000) -- until a value is written
  end
  return given
end

local function no_timestamp(store)
  return redis.error_reply("ILKFENCE no timestamp can rise above those in " .. store)
end
