-- SPDX-License-Identifier: MIT
-- Remembering which transactions of a store are committed or aborted.
--@include store

local DONE_US = 600000000

-- Older ones are removed a few at a time.
local function note_done(done, member, at, now)
  redis.call("ZADD", done, digits(at), member)
  local old = redis.call("ZRANGEBYSCORE", done, "-inf", digits(now - DONE_US), "LIMIT", 0, 16)
  if #old > 0 then
    redis.call("ZREM", done, unpack(old))
  end
  redis.call("PEXPIRE", done, DONE_US / 1000)
end
