-- SPDX-License-Identifier: MIT
-- Grant a free lock to the first waiter that can be reached.
--
-- Each entry, in the order of its ticket, is passed over (unknown version, or its
-- client's inbox has no subscriber), removed (its client is dead) or served.
--@include now
--@include entry
--@include serve_waiter
--@include their_turn

local function visit(walk, e)
  local state = life(walk, e.client)
  if state ~= "alive" and e.token ~= walk.own then
    return state == "dead" and DROP or PASS
  end
  if e.kind == "r" and walk.mode ~= "barge" then
    return serve_reader(walk, e)
  end
  if walk.reading then
    return STOP
  end
  if walk.mode == "barge" or e.kind == "w" and e.token ~= walk.own then
    return wake(walk, e)
  end
  return serve_exclusive(walk, e)
end

-- Write the keys for the holders after the walk. Without new readers, the
-- earlier readers stay as they were.
local function set_holder(walk)
  local latest = walk.undo and walk.reading and latest_reader(walk.readers, walk.record, walk.now)
  if walk.who then
    local left = keep_marker(walk.lock, walk.readers, walk.now, latest)
    write_record(walk.record, walk.last, walk.fence, READERS, walk.now, walk.who, left)
  elseif latest then
    pcall(keep_marker, walk.lock, walk.readers, walk.now, latest)
  elseif walk.undo then
    redis.pcall("DEL", walk.lock)
    redis.pcall("HSET", walk.record, "token", "")
  end
end

-- at: index of the name's first key. mode: nil, "barge" (wake the first
-- instead of granting) or "join" (readers hold; only readers may follow).
-- own: the token of the request that runs this script, or nil. If its entry is
-- served, the reply says so: it gets no message, and at once its full lease.
-- share: "open" when a hold of ours has just ended, so that it may be the turn of other
-- libraries (see pollers.lua); "wake" when a waiter has left that may have been woken to
-- acquire after their turn, so that the next one has to be woken; nil otherwise. Grants
-- nothing in their turn, nor while the record has no fence that can rise.
-- Returns more (see walk_wait_queue), denied, for `own` the fence and the lease,
-- whether a waiter was served that holds alone, and for how many ms the name is kept free.
local function grant(at, grant_ms, limit, liveness, mode, own, share)
  local now = now_us()
  local last, _, polled = read_record(KEYS[at + 1])
  if not last then
    return 0, 0, nil, nil, false
  end
  local ms = math.floor(now / 1000)
  local kept = polled and not mode and kept_free(polled, ms)
  if kept and share ~= "wake" then
    return 0, 0, nil, nil, false, kept
  end
  if kept or polled and not mode and share == "open" and is_their_turn(polled, ms) then
    if not kept then
      leave_free(KEYS[at + 1], polled, ms)
    end
    mode = "barge"
  end
  local walk = { lock = KEYS[at], record = KEYS[at + 1], wait = KEYS[at + 2], live = KEYS[at + 3],
    readers = KEYS[at + 4], now = now, ms = ms,
    grant_ms = grant_ms, liveness = liveness, mode = mode, own = own, reading = mode == "join",
    last = last, fence = last, life = {}, tries = 0, denied = 0 }
  local fate, more = walk_wait_queue(walk, limit, visit)
  set_holder(walk)
  return more, walk.denied, walk.own_fence, walk.own_lease, fate == SERVED
end
