--@script semaphore_extend keys=2 args=3
--@reply HELD i i i
--@reply LOST i i s
-- SPDX-License-Identifier: MIT
-- Give a hold a fresh lease; also how one is adopted or confirmed.
-- KEYS semaphore, fence    ARGV token, lease ms, renewal 0|1
-- returns {HELD, lease, fence (0: none on record), now us} | {LOST, born, broken, by}: see
--   include/evidence.lua
-- A retry sets the same lease again. A renewal that is executed late never
-- shortens; a late extend is cut off with its connection.
--@include now
--@include token
--@include lease_end
--@include hold_fence
--@include permits

local key, record = KEYS[1], KEYS[2]
local token, lease = token_at(1), number_at(2, 1)
local renews = number_at(3, 0) == 1
if misuse then
  return misuse
end

local until_ms, now = lease_ends_at(key, token), now_us()
local ms = math.floor(now / 1000)
if not until_ms or until_ms <= ms then
  --@include evidence
  return lost(record, token)
end
if renews then
  lease = math.max(lease, until_ms - ms)
end
-- The expiry comes first: a server out of memory checks only a script's first
-- write, and PEXPIRE is allowed without memory.
keep_semaphore(key, record, ms, ms + lease)
local permits = 1
while redis.call("ZSCORE", key, token .. " " .. permits + 1) do
  permits = permits + 1
end
put_permits(key, token, permits, ms + lease)
return { REQUEST + HELD, lease, hold_fence(redis.call("HMGET", record, "+" .. token)[1]), now }
