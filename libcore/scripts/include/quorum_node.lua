-- SPDX-License-Identifier: MIT
-- The state of a node of a quorum: the hash ilk:quorum:node, see quorum_join.lua.

-- nil for a member, else the ms until the node may be taken in (-1: it has no state, so
-- that a client has to send quorum_join first); and its base: a grant up to this fence
-- was given before the node was taken in.
local function waits_to_join(node, now)
  local field = redis.call("HMGET", node, "member", "base", "from")
  local base, from = tonumber(field[2] or 0), tonumber(field[3] or nil)
  if field[1] == "1" then
    return nil, base
  end
  return from and math.max(0, from - math.floor(now / 1000)) or -1, base
end
