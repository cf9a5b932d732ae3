-- SPDX-License-Identifier: MIT
-- Grant a free lock or leadership to a waiter: write, then publish; if the
-- message reaches nobody, the write is undone. Writes go through pcall: on a
-- server out of memory a release gives up the hand-over and still releases.
-- `walk` is the caller's, as in walk.lua, with record (key), last (the
-- fence on record), fence (the same, then those given), grant_ms and own (see grant.lua).
--@include fence
--@include walk
--@include send_grant

-- The write of a grant. Returns whether the server accepted it.
local function write_grant(walk, token, who, lease)
  walk.fence = next_fence(walk.fence, walk.now, 0)
  walk.undo = true
  return pcall(write_record, walk.record, walk.last, walk.fence, token, walk.now, who, lease)
end

local function serve_exclusive(walk, e)
  local own = e.token == walk.own
  local lease = own and e.lease or math.min(e.lease, walk.grant_ms)
  if not write_grant(walk, e.token, e.client .. " " .. e.who, lease) or
    not pcall(redis.call, "SET", walk.lock, e.token, "PX", lease) then
    return STOP
  end
  local receivers = own or send_grant(walk, e, lease)
  if receivers == 0 then
    return PASS
  end
  walk.undo = not receivers
  walk.own_fence, walk.own_lease = own and walk.fence, lease
  return receivers and SERVED or STOP
end
