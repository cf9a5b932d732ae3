-- SPDX-License-Identifier: MIT
-- The fence record: a hash {fence, token, since, who}, written at each grant.
-- It outlives the lease by a day, so that numbers go on rising.

local function read_record(key)
  local record = redis.call("HMGET", key, "fence", "token")
  return tonumber(record[1]) or 0, record[2]
end

local function keep_record(key, lease)
  redis.call("PEXPIRE", key, lease + 86400000)
end
