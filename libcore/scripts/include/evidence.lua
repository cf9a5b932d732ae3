-- SPDX-License-Identifier: MIT
-- What the record shows a release that finds its token gone: when the record
-- was created (server us; 0: there is none), and the fence on record when a
-- hold was broken last (0: none was; -1: it was this very hold). The caller
-- decides whether an earlier copy of the same release gave the hold up.
--@include reply

local function lost(record, token)
  local found = redis.call("HMGET", record, "born", "broken", "victim")
  return { LOST, tonumber(found[1]) or 0, found[3] == token and -1 or tonumber(found[2]) or 0 }
end
