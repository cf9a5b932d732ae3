-- SPDX-License-Identifier: MIT
-- Write the mark of a grant, see given.lua.
--@include given

-- most: table {key, fence} of ilk:quorum:max. The hold of a reserved vote may remain
-- unconfirmed, so the node's greatest fence is raised here.
local function set_mark(record, most, given, mark)
  local text = string.format("%.0f", given)
  local held = mark == CONFIRMED and text or mark == RESERVED and "-" .. text or ""
  redis.call("HSET", record, "given", text, "held", held)
  if mark == RESERVED and given > most.fence then
    redis.call("SET", most.key, text)
  end
end
