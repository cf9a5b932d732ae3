-- SPDX-License-Identifier: MIT
-- Before the first reader enters: the fields of readers that all died leave the record.
local function forget_readers(readers, record)
  for _, token in ipairs(redis.call("ZRANGE", readers, 0, 1023)) do
    redis.call("HDEL", record, "+" .. token)
  end
  redis.call("DEL", readers)
end
