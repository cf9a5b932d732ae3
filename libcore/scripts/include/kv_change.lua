-- SPDX-License-Identifier: MIT
-- Writing a replicated value, or deleting it.
--@include kv

local misused_text = redis.error_reply("ILKARG a value must begin with v, or be d")

local function is_value(text)
  return text == "d" or string.sub(text, 1, 1) == "v"
end

-- `text` is `v<value>`, or `d` for a deleted key, which has no expiry yet. A server out of
-- memory lets a script go on after its first write, and HDEL needs no memory: deleting must
-- work there, too.
local function write_value(record, version, token, text)
  version = string.format("%.0f", version)
  if text == "d" then
    redis.call("HDEL", record, "value")
    redis.call("HSET", record, "version", version, "token", token)
  else
    redis.call("HSET", record, "version", version, "token", token, "value", string.sub(text, 2))
  end
  redis.call("PERSIST", record)
end
