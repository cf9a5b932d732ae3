-- SPDX-License-Identifier: MIT
-- Consumers of a raw list stand in a zset: id -> server ms by which they show
-- up again. Who has not, and whose client's inbox nobody listens to, is gone.
-- An id is the client's, a dot and a number.
local function is_consumer_gone(consumers, id, now_ms)
  local due = tonumber(redis.call("ZSCORE", consumers, id) or 0)
  if due > now_ms then
    return false
  end
  local inbox = "ilk:inbox:" .. id:match("^[^.]*")
  return redis.call("PUBSUB", "NUMSUB", inbox)[2] == 0
end
