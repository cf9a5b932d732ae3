--@script recipes_park keys=3 args=2
--@reply HELD s
--@reply EMPTY
-- SPDX-License-Identifier: MIT
-- Move the oldest value of a raw list to another one, the cache, where it stays
-- until it is handled.
-- KEYS queue, cache, parked (hash token -> value of what is being handled)
-- ARGV token, longest value that can be read
-- returns {HELD, value} | EMPTY
-- A retry finds its token among the parked. A late copy, after the value was
-- handled, would park another one, which stays until a restore.
--@include number
--@include value_limit

local queue, cache, parked = KEYS[1], KEYS[2], KEYS[3]
local token, most = ARGV[1], number_at(2, 1)
local DAY_MS = 86400000
if misuse then
  return misuse
end

local kept = redis.call("HGET", parked, token)
if kept then
  return { REQUEST + HELD, kept }
end
local value = redis.call("LINDEX", queue, "-1")
if not value then
  return REQUEST + EMPTY
end
local refused = too_long(queue, value, most)
if refused then
  return refused
end
redis.call("RPOPLPUSH", queue, cache)
redis.call("HSET", parked, token, value)
redis.call("PEXPIRE", parked, DAY_MS)
return { REQUEST + HELD, value }
