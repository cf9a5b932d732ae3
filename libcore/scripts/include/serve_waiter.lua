-- SPDX-License-Identifier: MIT
-- Serve the waiters that serve_exclusive.lua does not: those that get a wake-up
-- instead of a grant, and readers. As there, the result is the fate of the entry
-- (walk.lua). `walk` is grant.lua's.
--@include readers
--@include first_reader
--@include hold_field
--@include send_wake
--@include serve_exclusive
--@include send_grant

local function wake(walk, e)
  local receivers = send_wake(walk, e)
  if receivers == 0 then
    return PASS
  end
  return receivers and e.kind == "w" and SERVED or STOP
end

-- Write a reader. With the first one also the marker and the record, so that a
-- refusal shows now; set_holder() writes both again after the walk.
local function admit(walk, e, lease)
  local who = e.client .. " " .. e.who
  add_reader(walk.readers, e.token, walk.now, lease)
  if not walk.who then
    local left = keep_marker(walk.lock, walk.readers, walk.now, latest_reader(walk.readers, walk.record, walk.now))
    write_record(walk.record, walk.last, walk.fence, READERS, walk.now, who, left)
  end
  redis.call("HSET", walk.record, "+" .. e.token, hold_field(walk.fence, walk.ms, who))
end

-- Grant to a reader. If the key was free, the members of `readers` are stale.
local function serve_reader(walk, e)
  local own = e.token == walk.own
  local lease = own and e.lease or math.min(e.lease, walk.grant_ms)
  if not walk.reading then
    forget_readers(walk.readers, walk.record)
  end
  walk.fence, walk.undo = next_fence(walk.fence, walk.now, 0), true
  local receivers = pcall(admit, walk, e, lease) and
    (own or send_grant(walk, e, lease))
  if not receivers or receivers == 0 then
    redis.call("ZREM", walk.readers, e.token)
    redis.call("HDEL", walk.record, "+" .. e.token)
    return receivers and PASS or STOP
  end
  walk.reading, walk.who = true, walk.who or e.client .. " " .. e.who
  if own then
    walk.own_fence, walk.own_lease = walk.fence, lease
  end
  return DROP
end
