-- SPDX-License-Identifier: MIT
-- A barrier and its rounds.
--
-- Each arrival gets a number, greater than any before it for this name. The
-- numbers of one round are consecutive, so the index of an arrival is its
-- distance from the round's first. A round is open until it is full or broken.
--
--   barrier: hash {parties, first, last, since, keep}; first 0: no round is
--     open; since: the first number on this record
--   arrived: zset token -> number, also of the rounds before; see barrier_leave.lua
--   rounds:  zset "<first> full" or "<first> broken <why>" -> its last number
--   wait:    the entries of the open round, and no others
--@include wake_all

-- The number of past rounds that are kept, for arrivals that send their wait again later.
local ROUNDS_KEPT = 256

local function read_barrier()
  local record = redis.call("HMGET", KEYS[1], "parties", "first", "last", "since", "keep")
  return { parties = tonumber(record[1]), first = tonumber(record[2]) or 0,
    last = tonumber(record[3]) or 0, since = tonumber(record[4]) or 0, keep = tonumber(record[5]) }
end

local function write_barrier(b)
  redis.call("HSET", KEYS[1], "parties", b.parties, "first", string.format("%.0f", b.first),
    "last", string.format("%.0f", b.last), "since",
    string.format("%.0f", b.since), "keep", string.format("%.0f", b.keep))
  for _, key in ipairs({ KEYS[1], KEYS[2], KEYS[5] }) do
    redis.call("PEXPIRE", key, b.keep)
  end
end

local function forget_old_rounds()
  local oldest = redis.call("ZRANGE", KEYS[5], -ROUNDS_KEPT, -ROUNDS_KEPT)[1]
  if oldest then
    redis.call("ZREMRANGEBYRANK", KEYS[5], 0, -ROUNDS_KEPT - 1)
    redis.call("ZREMRANGEBYSCORE", KEYS[2], "-inf", "(" .. string.match(oldest, "^%d+"))
  end
end

-- End the open round; how: "full" or "broken <why>". The wait queue is empty
-- afterwards. Returns 1 when this user may not PUBLISH to the others.
local function end_round(b, how, limit)
  local _, denied = wake_all(KEYS[3], KEYS[4], limit)
  redis.call("UNLINK", KEYS[4])
  redis.call("ZADD", KEYS[5], string.format("%.0f", b.last),
    string.format("%.0f ", b.first) .. how)
  forget_old_rounds()
  b.first = 0
  write_barrier(b)
  return denied
end
