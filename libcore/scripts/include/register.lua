-- SPDX-License-Identifier: MIT
-- A register: hash {version, value}; without a value it was deleted.
--@include fence_value

-- Returns the version (0: none on record; nil: the record has none that is a
-- version), whether there is a value, and the value or "".
local function read_register(key)
  local record = redis.call("HMGET", key, "version", "value")
  return fence_value(record[1]), record[2] and 1 or 0, record[2] or ""
end

-- The error when the version on record is none, or when no greater one is left.
local function no_version(key)
  return redis.error_reply("ILKFENCE no version can rise above the one in " .. key)
end
