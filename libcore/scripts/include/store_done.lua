-- SPDX-License-Identifier: MIT
-- Which transactions of a store are committed or aborted.
--@include store

local DONE_US = 600000000

-- Returns its timestamp if it is committed, the time of its abort if it is aborted.
local function find_done(done, id)
  return tonumber(redis.call("ZSCORE", done, "c " .. id) or nil),
    tonumber(redis.call("ZSCORE", done, "a " .. id) or nil)
end

-- Older ones are removed a few at a time.
local function note_done(done, member, at, now)
  redis.call("ZADD", done, digits(at), member)
  local old = redis.call("ZRANGEBYSCORE", done, "-inf", digits(now - DONE_US), "LIMIT", 0, 16)
  if #old > 0 then
    redis.call("ZREM", done, unpack(old))
  end
  redis.call("PEXPIRE", done, DONE_US / 1000)
end
