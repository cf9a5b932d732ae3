-- SPDX-License-Identifier: MIT
-- Delaying messages.
--@include queue_keys

-- Adds messages to the delayed ones. Returns whether they are the next due.
local function postpone(at, blobs, due_ms)
  local members = {}
  for _, blob in ipairs(blobs) do
    members[#members + 1] = due_ms
    members[#members + 1] = blob
  end
  redis.call("ZADD", KEYS[at + DELAYED], unpack(members))
  return tonumber(redis.call("ZRANGE", KEYS[at + DELAYED], 0, 0, "WITHSCORES")[2]) == due_ms
end
