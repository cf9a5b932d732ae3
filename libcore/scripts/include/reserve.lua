-- SPDX-License-Identifier: MIT
-- Reserve a grant for its client, see given.lua. Its hold may never be confirmed, so
-- the node's greatest fence is raised here.

-- most: table {key, fence} of ilk:quorum:max.
local function reserve(record, most, given)
  local text = string.format("%.0f", given)
  redis.call("HSET", record, "given", text, "held", "-" .. text)
  if given > most.fence then
    redis.call("SET", most.key, text)
  end
end
