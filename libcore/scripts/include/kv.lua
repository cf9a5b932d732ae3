-- SPDX-License-Identifier: MIT
-- A replicated value: hash {version, token, value}; without a value it was deleted.
--
-- Of two versions the greater one is the newer one; of two that are equal, that of the
-- greater token. So all servers choose the same one, in whatever order they get them.
--@include fence_value

-- How long a deleted key keeps its version once all of its servers know that it was
-- deleted, and a server of a ring may be away.
local KEPT_MS = 604800000

local function read_value(record)
  local field = redis.call("HMGET", record, "version", "token", "value")
  return fence_value(field[1]), field[2] or "", field[3]
end

local function no_version(record)
  return redis.error_reply("ILKFENCE no version can rise above the one in " .. record)
end

-- `text` is `v<value>`, or `d` for a deleted key, which has no expiry yet.
local function write_value(record, version, token, text)
  redis.call("HSET", record, "version", string.format("%.0f", version), "token", token)
  if string.sub(text, 1, 1) == "v" then
    redis.call("HSET", record, "value", string.sub(text, 2))
  else
    redis.call("HDEL", record, "value")
  end
  redis.call("PERSIST", record)
end

local misused_text = redis.error_reply("ILKARG a value must begin with v, or be d")

local function is_value(text)
  return string.sub(text, 1, 1) == "v" or text == "d"
end
