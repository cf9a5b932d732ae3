--@script lock_break keys=5 args=5
--@reply RELEASED i i
--@reply LOST
-- SPDX-License-Identifier: MIT
-- Take the lock away from its holder, as an operator may, and hand it on.
-- KEYS lock, fence, wait, live, readers
-- ARGV token ('': whoever holds; readers, all of them), grant ms, limit,
--   liveness ms, request id
-- returns {RELEASED, more, denied} | {LOST}: nobody holds under this token
-- A retry finds its request id in the record and breaks nothing else. So does
-- a late copy, unless another break came in between; with the token '' it
-- would then break the hold of that moment.
--@include number
--@include grant
--@include mark_break

local lock, record, readers = KEYS[1], KEYS[2], KEYS[5]
local token, grant_ms, limit, liveness = ARGV[1], number_at(2, 1), number_at(3, 1), number_at(4, 1)
local request = ARGV[5]
if misuse then
  return misuse
end

local value = redis.call("GET", lock)
if is_broken_by(record, request) then
  return { REQUEST + RELEASED, 0, 0 }
end
local reads = value == READERS and redis.call("ZREM", readers, token) == 1
if not value or token ~= "" and value ~= token and not reads then
  return { REQUEST + LOST }
end
local now = now_us()
local latest = reads and latest_reader(readers, record, now)
if reads then
  redis.call("HDEL", record, "+" .. token)
end
if latest then
  redis.call("PEXPIRE", lock, latest - math.floor(now / 1000))
  mark_break(record, request, token)
  return { REQUEST + RELEASED, 0, 0 }
end
redis.call("DEL", lock, readers)
mark_break(record, request, reads and token or value ~= READERS and value or "")
local more, denied = grant(1, grant_ms, limit, liveness)
return { REQUEST + RELEASED, more, denied }
