-- SPDX-License-Identifier: MIT
-- Raising the fence on record to a waiter's floor, the highest fence that it has
-- seen.
--@include born
--@include keep_record

-- The script that grants the lock to this waiter later does not have its floor.
-- An existing record keeps its expiry, which is for the holder.
local function raise_fence(key, last, floor, lease, now)
  if floor > last then
    redis.call("HSET", key, "fence", string.format("%.0f", floor + 1))
  end
  if floor > last and last == 0 then
    date_record(key, last, now)
    keep_record(key, lease)
  end
end
