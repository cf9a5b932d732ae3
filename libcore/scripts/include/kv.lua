-- SPDX-License-Identifier: MIT
-- A replicated value: hash {version, token, value}; without a value it was deleted.
--
-- Of two versions the greater one is the newer one; of two that are equal, that of the
-- greater token. So all servers choose the same one, in whatever order they get them.
--@include fence_value

local function read_value(record)
  local field = redis.call("HMGET", record, "version", "token", "value")
  return fence_value(field[1]), field[2] or "", field[3]
end

local function no_version(record)
  return redis.error_reply("ILKFENCE no version can rise above the one in " .. record)
end
