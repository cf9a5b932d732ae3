--@script semaphore_release keys=4 args=5
--@reply RELEASED
--@reply RELEASED i i
--@reply LOST i i s
-- SPDX-License-Identifier: MIT
-- Release the permits of a hold and grant them to waiters.
-- KEYS semaphore, fence, wait, live
-- ARGV token, grant ms, limit, liveness ms, barge 0|1 (wake, grant nothing)
-- returns RELEASED | {RELEASED, more, denied}
--   | {LOST, born, broken, by}: see include/evidence.lua
-- A retry or a late copy finds the token gone and touches nobody's permits.
--@include now
--@include token
--@include evidence
--@include lease_end
--@include return_permits

local key, record, wait = KEYS[1], KEYS[2], KEYS[3]
local token, grant_ms, limit = token_at(1), number_at(2, 1), number_at(3, 1)
local liveness, mode = number_at(4, 1), ARGV[5] == "1" and "barge" or nil
if misuse then
  return misuse
end

local until_ms = lease_ends_at(key, token)
if not until_ms then
  return lost(record, token)
end
return_permits(key, record, token)
local held, more, denied = until_ms > math.floor(now_us() / 1000), 0, 0

if redis.call("EXISTS", wait) == 1 then
  --@include grant_permits
  more, denied = grant_permits(grant_ms, limit, liveness, mode)
end
if held then
  return more + denied == 0 and REQUEST + RELEASED or { REQUEST + RELEASED, more, denied }
end
return lost(record, token)
