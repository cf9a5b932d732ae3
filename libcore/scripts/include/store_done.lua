-- SPDX-License-Identifier: MIT
-- Remembering which transactions of a store are committed or aborted.
--@include store

local DONE_US = 600000000

-- Every sixteenth removes older ones, a few at a time.
local function note_done(done, member, at, now)
  redis.call("ZADD", done, digits(at), member)
  redis.call("PEXPIRE", done, "600000")
  if at % 16 ~= 0 then
    return
  end
  local old = redis.call("ZRANGEBYSCORE", done, "-inf", now - DONE_US, "LIMIT", "0", "256")
  if #old > 0 then
    redis.call("ZREM", done, unpack(old))
  end
end
