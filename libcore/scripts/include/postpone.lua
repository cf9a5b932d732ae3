-- SPDX-License-Identifier: MIT
-- Delaying messages. The score of a delayed message is above the millisecond before the one
-- in which it is due, and not above that one: so it is due at the same time as a whole number
-- would be, and messages that become due together keep the order in which they were delayed.
--@include queue_keys

-- As many as keep their order in one millisecond. A score has room for it until 2248.
local PLACES = 1024

-- Adds messages to the delayed ones. Returns whether they are the next due.
local function postpone(at, blobs, due_ms)
  local delayed, members = KEYS[at + DELAYED], {}
  local there = redis.call("ZCOUNT", delayed, string.format("(%.0f", due_ms - 1), string.format("%.0f", due_ms))
  for i, blob in ipairs(blobs) do
    members[2 * i - 1] = due_ms - 1 + math.min(there + i, PLACES) / PLACES
    members[2 * i] = blob
  end
  redis.call("ZADD", delayed, unpack(members))
  return math.ceil(tonumber(redis.call("ZRANGE", delayed, "0", "0", "WITHSCORES")[2])) == due_ms
end
