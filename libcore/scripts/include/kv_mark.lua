-- SPDX-License-Identifier: MIT
-- A server's mark: the hash ilk:kv:node {seen, pass, name}, `seen` being a version up to
-- which it has had what was written to it. The servers of a ring get theirs at about the
-- same time, and they rise at least every minute while somebody uses the ring, and with
-- every delete. One whose mark is behind was away.
--@include fence_value

-- A mark may be this old before a write renews it.
local MARK_US = 60000000

local function read_mark(node)
  return fence_value(redis.call("HGET", node, "seen")) or 0
end

local function raise_mark(node, version)
  if read_mark(node) < version then
    redis.call("HSET", node, "seen", string.format("%.0f", version))
  end
end
