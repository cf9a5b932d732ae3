-- SPDX-License-Identifier: MIT
-- Waking consumers: the entry of each leaves the wait queue, and it asks again.
--@include queue_keys
--@include send_wake

-- Wakes up to `count` waiters of the queue. Tries the first few, and passes over
-- clients that cannot be reached. Returns how many were woken, and denied.
local function wake_consumers(at, count, now_ms, liveness)
  if count < 1 then
    return 0, 0
  end
  local walk = { lock = KEYS[at + META], wait = KEYS[at + WAIT], live = KEYS[at + LIVE],
    ms = now_ms, liveness = liveness, life = {}, tries = 0, denied = 0 }
  local woken = 0
  walk_wait_queue(walk, count + 8, function(_, e)
    local state = life(walk, e.client)
    if state ~= "alive" then
      return state == "dead" and DROP or PASS
    end
    local receivers = send_wake(walk, e)
    if not receivers or receivers == 0 then
      return receivers and PASS or STOP
    end
    woken = woken + 1
    return woken == count and SERVED or DROP
  end)
  return woken, walk.denied
end
