-- SPDX-License-Identifier: MIT
-- Grant a free lock or leadership to a waiter: write, then publish; if the
-- message reaches nobody, the write is undone. Writes go through pcall: on a
-- server out of memory a release gives up the hand-over and still releases.
-- `walk` is the caller's, as in walk.lua, with record (key), last (the
-- fence on record), fence (the same, then those given), grant_ms and own (see grant.lua).
--@include fence
--@include walk
--@include send_grant

-- The write of a grant. Returns false when the server refuses it, or true and the
-- digits of the fence.
local function write_grant(walk, token, who, lease)
  walk.fence = next_fence(walk.fence, walk.now, 0)
  walk.undo = true
  return pcall(write_record, walk.record, walk.last, walk.fence, token, walk.now, who, lease,
    walk.now_text)
end

local function serve_exclusive(walk, e)
  local own = e.token == walk.own
  local lease = own and e.lease or math.min(e.lease, walk.grant_ms)
  local is_written, fence_text = write_grant(walk, e.token, e.who, lease)
  if not is_written or
    not pcall(redis.call, "SET", walk.lock, e.token, "PX", lease) then
    return STOP
  end
  local receivers = own or send_grant(walk, e, fence_text, lease)
  if receivers == 0 then
    return PASS
  end
  walk.undo = not receivers
  walk.own_fence, walk.own_lease = own and walk.fence, lease
  return receivers and SERVED or STOP
end
