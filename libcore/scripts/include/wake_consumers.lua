-- SPDX-License-Identifier: MIT
-- Wake consumers: each that is told leaves the wait queue and asks by itself.
--@include queue_keys
--@include send_wake

-- Up to `count` of those who wait for the queue. Looks at the first few, and
-- past those of clients that do not hear. Returns how many, and denied.
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
