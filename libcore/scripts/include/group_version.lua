-- SPDX-License-Identifier: MIT
--@include group

-- Returns version and floor; 0, 0 for a group that is not on record.
local function read_version()
  local version, floor = string.match(redis.call("HGET", group.data, "") or "", "^(%d+) (%d+)$")
  return tonumber(version or 0), tonumber(floor or 0)
end
