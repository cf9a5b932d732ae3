-- SPDX-License-Identifier: MIT
-- Which grant of a node the record is about. `fence` on record is raised by
-- waiters and by quorum_confirm; `given` is the fence of the last grant, and grants
-- alone write it. The first grant of a new record wrote `born` in its place, which
-- is the same number. `held` is `given` of the grant that was confirmed last, so
-- each grant clears the mark without writing it.
--@include fence_value

-- The fence on record (see fence_value()), the token, given (0: none), and whether
-- this grant is marked as held.
local function read_grant(key)
  local field = redis.call("HMGET", key, "fence", "token", "given", "born", "held")
  local given = fence_value(field[3] or field[4]) or 0
  return fence_value(field[1]), field[2], given, given > 0 and tonumber(field[5] or 0) == given
end
