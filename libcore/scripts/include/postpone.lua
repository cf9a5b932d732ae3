-- SPDX-License-Identifier: MIT
-- Messages that are to be taken later.
--@include queue_keys

-- Behind the others of its time; whether it is now the first to be due.
local function postpone(at, blobs, due_ms)
  local members = {}
  for _, blob in ipairs(blobs) do
    members[#members + 1] = due_ms
    members[#members + 1] = blob
  end
  redis.call("ZADD", KEYS[at + DELAYED], unpack(members))
  return tonumber(redis.call("ZRANGE", KEYS[at + DELAYED], 0, 0, "WITHSCORES")[2]) == due_ms
end
