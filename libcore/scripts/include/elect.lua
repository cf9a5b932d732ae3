-- SPDX-License-Identifier: MIT
-- Elect the first candidate in the wait queue that can be reached.
--@include now
--@include serve_exclusive
--@include observers

local function consider(walk, e)
  local state = life(walk, e.client)
  if e.token == walk.own or state == "alive" then
    return serve_exclusive(walk, e)
  elseif state == "dead" then
    redis.call("HDEL", place.values, e.token)
    return DROP
  end
  return PASS
end

-- Called when the leader's key does not exist. own: the caller's token, which
-- needs no message and gets the full lease. Returns more (see walk.lua), denied,
-- whether one was elected, and for `own` the term and the lease.
local function elect(grant_ms, limit, liveness, own)
  if redis.call("EXISTS", place.wait) == 0 then
    return 0, 0, false
  end
  local now = now_us()
  local last, last_token = read_record(place.record)
  if not last then
    return 0, 0, false
  end
  local walk = { lock = place.lock, record = place.record, wait = place.wait, live = place.live,
    now = now, ms = math.floor(now / 1000), grant_ms = grant_ms,
    liveness = liveness, own = own, last = last, fence = last, life = {}, tries = 0, denied = 0 }
  local fate, more = walk_wait_queue(walk, limit, consider)
  if walk.undo then
    redis.pcall("DEL", place.lock)
    -- The former leader stays on record until its end has been published to the observers.
    redis.pcall("HSET", place.record, "token", last_token or "")
  end
  local elected = fate == SERVED
  if elected then
    redis.call("HDEL", place.values, last_token or "")
    tell_observers(limit)
  end
  return more, walk.denied, elected, walk.own_fence, walk.own_lease
end
