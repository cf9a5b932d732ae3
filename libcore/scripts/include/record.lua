-- SPDX-License-Identifier: MIT
-- The fence record: a hash {fence, token, since, who}, written at each grant.
--@include keep

local function read_record(key)
  local record = redis.call("HMGET", key, "fence", "token")
  return tonumber(record[1]) or 0, record[2]
end
