--@script recipes_permit_renew keys=2 args=1
--@reply HELD
--@reply LOST
-- SPDX-License-Identifier: MIT
-- Restart a permit's timeout, unless it has run out.
-- KEYS semaphore, owners    ARGV identifier
-- returns {HELD} | {LOST}: it was purged, and is not put back even for a moment
-- A retry or a late copy restarts the timeout once more, if the permit is still
-- held.
--@include now

local semaphore, owners = KEYS[1], KEYS[2]
local identifier = ARGV[1]

local ours = redis.call("ZSCORE", owners, identifier)
if not redis.call("ZSCORE", semaphore, identifier) or not ours then
  redis.call("ZREM", semaphore, identifier)
  redis.call("ZREM", owners, identifier)
  return { REQUEST + LOST }
end
redis.call("ZADD", semaphore, string.format("%.6f", now_us() / 1000000), identifier)
return { REQUEST + HELD }
