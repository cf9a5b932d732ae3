--@script recipes_reserve keys=3* args=3
--@reply HELD i s *
--@reply EMPTY *
-- SPDX-License-Identifier: MIT
-- Take the next message of raw lists, in the order of the lists, and park it in
-- a list of this consumer's until it is settled.
-- KEYS for each: queue, this consumer's parked, consumers
-- ARGV consumer, ms within which it reserves again, longest value that can be read
-- returns {HELD, which list, value, gone} | {EMPTY, gone}; gone: pairs of a
-- list's number and a consumer of it that died, see recipes_recover. Lists
-- count from 0.
-- A parked message comes first: it was in a reply that was lost, so a retry
-- returns the same. A message that a late copy parks is found by the next call.
--@include number
--@include now
--@include consumer_gone
--@include value_limit

local self = ARGV[1]
local liveness, most = number_at(2, 1), number_at(3, 1)
local CANDIDATES = 16
if misuse then
  return misuse
end

local now = math.floor(now_us() / 1000)
local gone, parked_at = {}, nil
for i = 1, #KEYS, 3 do
  redis.call("LLEN", KEYS[i])
  if redis.call("LLEN", KEYS[i + 1]) > 0 then
    parked_at = parked_at or i
  end
  local late = redis.call("ZRANGEBYSCORE", KEYS[i + 2], "-inf", now, "LIMIT", "0", CANDIDATES)
  for _, id in ipairs(late) do
    if id ~= self and is_consumer_gone(KEYS[i + 2], id, now) then
      gone[#gone + 1] = (i - 1) / 3
      gone[#gone + 1] = id
    end
  end
end
local taken_at = parked_at
local value = parked_at and redis.call("LINDEX", KEYS[parked_at + 1], "0")
for i = 1, #KEYS, 3 do
  local next_value = not taken_at and redis.call("LINDEX", KEYS[i], "0")
  if next_value then
    taken_at, value = i, next_value
  end
end
if value then
  local refused = too_long(KEYS[taken_at], value, most)
  if refused then
    return refused
  end
end

-- The consumer is registered before it parks, so that others can recover.
for i = 1, #KEYS, 3 do
  redis.call("ZADD", KEYS[i + 2], now + liveness, self)
end
if not taken_at then
  return { REQUEST + EMPTY, unpack(gone) }
end
if not parked_at then
  redis.call("LMOVE", KEYS[taken_at], KEYS[taken_at + 1], "LEFT", "RIGHT")
end
return { REQUEST + HELD, (taken_at - 1) / 3, value, unpack(gone) }
