-- SPDX-License-Identifier: MIT
-- The keys of a semaphore. The permits in use: a zset `<token> <i>` ->
-- the end of the lease in server ms, so that their number is its ZCARD once
-- the expired are gone. The record: a hash of the last fence, the limit, the
-- base (the limit that it was set up with), and of each hold `+<token>` ->
-- `<fence> <since ms> <who>`.
--@include keep_record

-- All permits of a hold, with the same end.
local function put_permits(key, token, permits, until_ms)
  local pairs_of = {}
  for i = 1, permits do
    pairs_of[2 * i - 1] = until_ms
    pairs_of[2 * i] = token .. " " .. i
  end
  redis.call("ZADD", key, unpack(pairs_of))
end

-- Both keys outlive the longest lease by a day. The scores show which holds have ended, and
-- the script that removes these from the zset removes them from the record as well. So the
-- zset must not expire while it has a hold that nobody released.
local function keep_semaphore(key, record, ms, until_ms)
  local latest = tonumber(redis.call("ZREVRANGE", key, "0", "0", "WITHSCORES")[2]) or ms
  local left = math.max(latest, until_ms) - ms
  redis.call("PEXPIRE", key, left + KEPT_MS)
  keep_record(record, left)
end
