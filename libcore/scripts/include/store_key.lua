-- SPDX-License-Identifier: MIT
-- The readers and the versions of a key of a store.

local function split(text)
  local found = {}
  for word in string.gmatch(text or "", "%S+") do
    found[#found + 1] = tonumber(word)
  end
  return found
end

-- Returns the greatest timestamp of a reader, and the timestamps of the versions.
local function read_key(key)
  local field = redis.call("HMGET", key, "read", "versions")
  return tonumber(field[1] or 0) or 0, split(field[2])
end
