-- SPDX-License-Identifier: MIT
-- A store of keys with versions by timestamp, see interlock/store.h.
--
--   store        hash {last}: the greatest timestamp that was given
--   done         zset `c <id>` (committed) or `a <id>` (aborted) -> the timestamp, or the
--                time of the abort
--   a key        hash {read, versions, cut, <timestamp>...}
--     read       the greatest timestamp of a transaction that has read it
--     versions   the timestamps of its versions, in their order, with spaces between
--     cut        1: there were earlier versions
--     <timestamp>  `v<value>`, or `d` where the key was deleted
--
-- A timestamp belongs to one transaction. It is in microseconds, and not below the
-- server's clock when it was given.
--@include now
--@include number
--@include fence_value

-- How long former versions are kept, and a transaction may last. A key without a value
-- outlasts each transaction that may have seen one.
local KEEP_US = 60000000
local GONE_MS = 2 * KEEP_US / 1000

local function digits(number)
  return string.format("%.0f", number)
end

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

-- A timestamp that nobody has, greater than `above`; nil: none is left.
local function give_timestamp(store, now, above)
  local last = tonumber(redis.call("HGET", store, "last") or 0) or 0
  local given = fence_value(digits(math.max(now, last + 1, above + 1)))
  if not given then
    return nil
  end
  redis.call("HSET", store, "last", digits(given))
  if last == 0 then
    redis.call("PEXPIRE", store, 86400000) -- until a value is written
  end
  return given
end

local function no_timestamp(store)
  return redis.error_reply("ILKFENCE no timestamp can rise above those in " .. store)
end
