-- SPDX-License-Identifier: MIT
-- The readers and the versions of a key of a store. The timestamps of a key that is
-- written often are many, so they stay one text: a new one is added at its end, and those
-- that are dropped are taken from its beginning.

-- Returns the greatest timestamp of a reader, the text of the versions, and of an intent
-- its timestamp and its transaction's id.
local function read_key(key)
  local field = redis.call("HMGET", key, "read", "versions", "intent")
  local at, id = string.match(field[3] or "", "^(%d+) (.+)$")
  return tonumber(field[1] or 0) or 0, field[2] or "", tonumber(at), id
end

-- The greatest timestamp of the versions, and its digits, 16 at most; nil without one.
local function newest(versions)
  local digits_of = string.match(string.sub(versions, -17), "%d+$")
  return tonumber(digits_of), digits_of
end
