-- SPDX-License-Identifier: MIT
-- The lock is free, but somebody waits, or it is kept free: for lock_acquire.lua, whose
-- variables these are. It goes to the first waiter, which may be the caller. Returns the
-- reply; or nil and 1 if somebody has the lock now, else 0.
--@include grant

local function take_turn()
  local own = entry ~= "" and token or nil
  local _, _, fence, left, served, free_ms = grant(1, grant_ms, limit, liveness, nil, own)
  if fence then
    return { REQUEST + HELD, left, fence, now }
  end
  if free_ms then
    return { REQUEST + (own and QUEUED or BUSY), free_ms, now, 1 }
  end
  local there = redis.call("EXISTS", lock)
  if not own and there == 0 and not served and redis.call("EXISTS", wait) == 0 then
    redis.call("SET", lock, token, "PX", lease)
    return acquire(lease)
  end
  return nil, there
end
