--@script queue_cancel keys=9* args=5
--@reply RELEASED i
--@reply GONE
-- SPDX-License-Identifier: MIT
-- Leave the wait queues, return the messages that were reserved under this
-- token untouched, and pass on a wake-up that was already under way.
-- KEYS for each queue: meta, ready, wait, live, delayed, leases, flight, dead,
--   died
-- ARGV entry, token, grant ms, limit, liveness ms
-- returns {RELEASED, how many were taken} | {GONE}
-- A retry or a late copy finds neither entry nor token; it may wake one more
-- consumer in vain.
--@include now
--@include token
--@include lease_until
--@include nack

local entry, token, liveness = ARGV[1], token_at(2), number_at(5, 1)
if misuse then
  return misuse
end

local now_ms, released = math.floor(now_us() / 1000), 0
for at = 0, #KEYS - QUEUE_KEYS, QUEUE_KEYS do
  local score = redis.call("ZSCORE", KEYS[at + LEASES], token)
  if score then
    local _, count = lease_until(tonumber(score))
    local order = redis.call("HGET", KEYS[at + META], "order")
    released = released + math.max(0, nack({ kind = "r", at = at, token = token, from = 1,
      to = count, count = count, delay = 0, reason = "" }, order, 0, now_ms, liveness))
  end
  local stood = redis.call("ZREM", KEYS[at + WAIT], entry)
  if stood == 0 and redis.call("LLEN", KEYS[at + READY]) > 0 then
    wake_consumers(at, 1, now_ms, liveness)
  end
end
return released > 0 and { REQUEST + RELEASED, released } or { REQUEST + GONE }
