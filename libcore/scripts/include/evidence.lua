-- SPDX-License-Identifier: MIT
-- The record's evidence for a call that finds its token gone: when the record
-- was created (server us; 0: there is none), the fence on record when a
-- hold was broken last (0: none was; -1: it was this very hold), and the label of
-- the client that broke it, or all readers ('': another hold, or no label). For a
-- release the caller decides whether an earlier copy of it gave the hold up.

local function lost(record, token)
  local found = redis.call("HMGET", record, "born", "broken", "victim", "breaker")
  local victim = found[3]
  local by = (victim == token or victim == "") and string.match(found[4] or "", "^%S+ (.*)$")
  return { REQUEST + LOST, tonumber(found[1]) or 0, victim == token and -1 or tonumber(found[2]) or 0, by or "" }
end
