-- SPDX-License-Identifier: MIT
-- Offer a free lock to one who waits: write, then tell; a message that
-- reaches nobody takes the write back. Writes go through pcall: on a server
-- out of memory a release gives up the hand-over and still releases.
-- `walk` is grant.lua's.
--@include fence
--@include readers
--@include reach

local function wake(walk, e)
  local receivers = rouse(walk, e)
  if receivers == 0 then
    return PASS
  end
  return receivers and e.kind == "w" and SERVED or STOP
end

-- The write of a grant; false when the server refuses it.
local function write_grant(walk, token, who, lease)
  walk.fence = next_fence(walk.fence, walk.now, 0)
  walk.undo = true
  return pcall(write_record, walk.record, walk.fence, token, walk.now, who, lease)
end

local function serve_exclusive(walk, e)
  local own = e.token == walk.own
  local lease = own and e.lease or math.min(e.lease, walk.grant_ms)
  if not write_grant(walk, e.token, e.who, lease) or
    not pcall(redis.call, "SET", walk.lock, e.token, "PX", lease) then
    return STOP
  end
  local receivers = own or announce(walk, e, walk.fence, lease)
  if receivers == 0 then
    return PASS
  end
  walk.undo = not receivers
  walk.own_fence, walk.own_lease = own and walk.fence, lease
  return receivers and SERVED or STOP
end

-- Write that a reader is in; marker and record with the first of them, to
-- see that it can be done, and again by settle() with what came of the rest.
local function admit(walk, e, lease)
  add_reader(walk.readers, e.token, walk.now, lease)
  if not walk.who then
    local left = keep_marker(walk.lock, walk.readers, walk.now, latest_reader(walk.readers, walk.now))
    write_record(walk.record, walk.fence, READERS, walk.now, e.who, left)
  end
end

-- Let a reader in. On a free key nobody in `readers` holds any more.
local function serve_reader(walk, e)
  local own = e.token == walk.own
  local lease = own and e.lease or math.min(e.lease, walk.grant_ms)
  if not walk.reading then
    redis.call("DEL", walk.readers)
  end
  walk.fence, walk.undo = next_fence(walk.fence, walk.now, 0), true
  local receivers = pcall(admit, walk, e, lease) and (own or announce(walk, e, walk.fence, lease))
  if not receivers or receivers == 0 then
    redis.call("ZREM", walk.readers, e.token)
    return receivers and PASS or STOP
  end
  walk.reading, walk.who = true, walk.who or e.who
  if own then
    walk.own_fence, walk.own_lease = walk.fence, lease
  end
  return DROP
end
