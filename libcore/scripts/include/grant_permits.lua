-- SPDX-License-Identifier: MIT
-- Grant the free permits of a semaphore to its waiters, in order.
--
-- The first waiter that can be reached gets all permits that it asks for, then
-- the next, until too few are left for one: no later waiter overtakes that one.
-- A waiter that asks for more than the limit, which was lowered since, is woken:
-- it asks again, and the reply is DIFFERS.
--@include send_grant
--@include born
--@include now
--@include permits
--@include return_permits
--@include hold_field
--@include walk
--@include send_wake
--@include next_fence
--@include fence_value

local function wake(walk, e)
  local receivers = send_wake(walk, e)
  if not receivers or receivers == 0 then
    return receivers and PASS or STOP
  end
  walk.free = walk.free - e.permits
  return e.kind == "w" and DROP or PASS
end

local function write_hold(walk, e, lease)
  put_permits(walk.lock, e.token, e.permits, walk.ms + lease)
  redis.call("HSET", walk.record, "fence", digits(walk.fence),
    "+" .. e.token, hold_field(walk.fence, walk.ms, e.client .. " " .. e.who))
  date_record(walk.record, walk.last, walk.now)
end

-- Write, then publish; if the message reaches nobody, undo the write. On a
-- server out of memory the hand-over is given up.
local function serve_permits(walk, e, own)
  local lease = own and e.lease or math.min(e.lease, walk.grant_ms)
  walk.fence = next_fence(walk.fence, walk.now, 0)
  local receivers = pcall(write_hold, walk, e, lease) and
    (own or send_grant(walk, e, lease))
  if not receivers or receivers == 0 then
    return_permits(walk.lock, walk.record, e.token)
    return receivers and PASS or STOP
  end
  walk.free, walk.latest = walk.free - e.permits, math.max(walk.latest, walk.ms + lease)
  if own then
    walk.own_fence, walk.own_lease = walk.fence, lease
  end
  return walk.free > 0 and DROP or SERVED
end

local function visit_permits(walk, e)
  local own = e.token == walk.own
  local state = own and "alive" or life(walk, e.client)
  if state ~= "alive" then
    return state == "dead" and DROP or PASS
  end
  if e.permits > walk.most then
    return (send_wake(walk, e) or 0) > 0 and DROP or PASS
  end
  if e.permits > walk.free then
    walk.blocked = true
    return STOP
  end
  if walk.mode == "barge" or e.kind == "w" and not own then
    return wake(walk, e)
  end
  return serve_permits(walk, e, own)
end

-- mode: nil, or "barge" (wake instead of granting). own: the caller's token,
-- which needs no message and gets the full lease.
-- Returns more (see walk_wait_queue), denied, and the walk: how many permits are
-- free now, whether they are too few for the first waiter, and for `own` its
-- fence and lease; nil when no limit is on record.
local function grant_permits(grant_ms, limit, liveness, mode, own)
  local key, record, wait, live = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
  local state = redis.call("HMGET", record, "fence", "limit")
  local now, most = now_us(), tonumber(state[2])
  local ms = math.floor(now / 1000)
  purge(key, record, ms)
  local last = fence_value(state[1])
  if not most or not last then
    return 0, 0
  end
  local free = math.max(0, most - redis.call("ZCARD", key))
  local walk = { lock = key, record = record, wait = wait, live = live, now = now,
    ms = ms, grant_ms = grant_ms, liveness = liveness, mode = mode,
    own = own, latest = ms, most = most, free = free, last = last, fence = last, life = {}, tries = 0, denied = 0 }
  local _, more = walk_wait_queue(walk, limit, visit_permits)
  if walk.latest > ms then
    keep_semaphore(key, record, ms, walk.latest)
  end
  return more, walk.denied, walk
end
