-- SPDX-License-Identifier: MIT
-- The record's evidence for a release that finds its token gone: when the record
-- was created (server us; 0: there is none), and the fence on record when a
-- hold was broken last (0: none was; -1: it was this very hold). The caller
-- decides whether an earlier copy of the same release gave the hold up.

local function lost(record, token)
  local found = redis.call("HMGET", record, "born", "broken", "victim")
  return { REQUEST + LOST, tonumber(found[1]) or 0, found[3] == token and -1 or tonumber(found[2]) or 0 }
end
