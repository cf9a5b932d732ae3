-- SPDX-License-Identifier: MIT
-- The readers and the versions of a key of a store.

local function split(text)
  local found = {}
  for word in string.gmatch(text or "", "%S+") do
    found[#found + 1] = tonumber(word)
  end
  return found
end

-- Returns the greatest timestamp of a reader, the timestamps of the versions, and of an
-- intent its timestamp and its transaction's id.
local function read_key(key)
  local field = redis.call("HMGET", key, "read", "versions", "intent")
  local at, id = string.match(field[3] or "", "^(%d+) (.+)$")
  return tonumber(field[1] or 0) or 0, split(field[2]), tonumber(at), id
end
