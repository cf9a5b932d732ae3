--@script store_left keys=1 args=0
--@reply STATE s s
-- SPDX-License-Identifier: MIT
-- Find a commit over several servers that was decided here two minutes ago or more and that
-- nobody has forgotten: its client has died, or could not reach all servers. The caller ends
-- its intents, and forgets it when all servers have replied.
-- KEYS store
-- returns {STATE, id, keys of the whole transaction}; both '' when there is none
-- Read-only: a missing reply can be ignored.
--@include now

local LEFT_US = 120000000
local MOST = 1000

-- The hash has the transactions that are under way, and two fields more.
local now = now_us()
local fields = redis.call("HSCAN", KEYS[1], "0", "MATCH", "decided:*", "COUNT", MOST)[2]
for i = 1, #fields, 2 do
  local decided_at, keys = string.match(fields[i + 1], "^%d+ (%d+) (.+)$")
  if decided_at and tonumber(decided_at) <= now - LEFT_US then
    return { REQUEST + STATE, string.sub(fields[i], 9), keys }
  end
end
return { REQUEST + STATE, "", "" }
