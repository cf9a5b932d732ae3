-- SPDX-License-Identifier: MIT
-- A waiter's floor: the highest fence that it has seen.
--@include born
--@include keep_record

-- Whoever hands the lock to this waiter later does not know its floor. A
-- record that exists keeps its expiry: it is that of the holder.
local function raise_fence(key, last, floor, lease, now)
  if floor > last then
    redis.call("HSET", key, "fence", string.format("%.0f", floor + 1))
  end
  if floor > last and last == 0 then
    date_record(key, last, now)
    keep_record(key, lease)
  end
end
