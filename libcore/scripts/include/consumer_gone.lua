-- SPDX-License-Identifier: MIT
-- The consumers of a raw list are in a zset: id -> server ms by which they
-- reserve again. A consumer is gone if it has not done so, and its client's inbox
-- has no subscriber. An id is the client's, a dot and a number.
local function is_consumer_gone(consumers, id, now_ms)
  local due = tonumber(redis.call("ZSCORE", consumers, id) or 0)
  if due > now_ms then
    return false
  end
  local inbox = "ilk:inbox:" .. id:match("^[^.]*")
  return redis.call("PUBSUB", "NUMSUB", inbox)[2] == 0
end
