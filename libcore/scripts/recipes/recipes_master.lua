--@script recipes_master keys=2 args=4
--@reply HELD i
--@reply BUSY
-- SPDX-License-Identifier: MIT
-- Become or stay the master: the counter counts the tenures, as in the
-- well-known function, and always has an expiry; the record names the master.
-- KEYS counter, record    ARGV identity, token, the caller's selector (0: not
--                         the master before), tenure in ms
-- returns {HELD, selector} | {BUSY}
-- The record ends MARGIN_MS before the counter. Another distance means that
-- somebody else has set the counter's expiry, as only a master does.
-- A retry finds its token in the record. A late copy could take a tenure that
-- is free, and leave it unused.
--@include number

local counter, record = KEYS[1], KEYS[2]
local identity, token = ARGV[1], ARGV[2]
local selector, tenure = number_at(3, 0), number_at(4, 1000)
local MARGIN_MS = 100
if misuse then
  return misuse
end

local value = tonumber(redis.call("GET", counter) or 0)
local owned = redis.call("GET", record)
if owned and owned == token .. identity then
  return { REQUEST + HELD, value }
end
if value ~= 0 then
  local left = redis.call("PTTL", counter)
  local apart = left - redis.call("PTTL", record)
  local ours = owned and owned:sub(#token + 1) == identity and selector > 0
  if left == -1 then
    -- A program with the hand-written function died before it set the expiry.
    redis.call("PEXPIRE", counter, tenure)
    ours = false
  end
  if not ours or selector > value or math.abs(apart - MARGIN_MS) > 1 then
    return { REQUEST + BUSY }
  end
end
value = redis.call("INCR", counter)
redis.call("PEXPIRE", counter, tenure)
redis.call("SET", record, token .. identity, "PX", tenure - MARGIN_MS)
return { REQUEST + HELD, value }
