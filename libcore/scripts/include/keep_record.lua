-- SPDX-License-Identifier: MIT
-- A record of fences outlives the lease, so that numbers go on rising: by a day when
-- its expiry is set, and by half a day at least. Most calls find it long enough, and
-- none brings it forward.
--@include kept_ms

-- Returns whether the expiry was set.
local function keep_record(key, lease)
  if redis.call("PTTL", key) >= lease + KEPT_MS / 2 then
    return false
  end
  redis.call("PEXPIRE", key, lease + KEPT_MS)
  return true
end
