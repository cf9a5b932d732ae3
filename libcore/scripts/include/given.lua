-- SPDX-License-Identifier: MIT
-- Which grant of a node the record is about. `fence` on record is raised by
-- waiters and by quorum_confirm; `given` is the fence of the last grant, and grants
-- alone write it. The first grant of a new record wrote `born` in its place, which
-- is the same number. `held` is `given` of the grant that was confirmed last, or
-- minus `given` of the one that was reserved last, so each grant clears the mark
-- without writing it.
--@include fence_value

-- The mark of a grant: an open one may be handed on or taken, and a reserved one may
-- be handed on by its own client alone.
local OPEN, CONFIRMED, RESERVED = 0, 1, 2

-- The fence on record (see fence_value()), the token, given (0: none), and the mark.
local function read_grant(key)
  local field = redis.call("HMGET", key, "fence", "token", "given", "born", "held")
  local given, held = fence_value(field[3] or field[4]) or 0, tonumber(field[5] or nil)
  local mark = given > 0 and (held == given and CONFIRMED or held == -given and RESERVED) or OPEN
  return fence_value(field[1]), field[2], given, mark
end
