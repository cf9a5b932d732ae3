--@script queue_refresh keys=9* args=5+
--@reply BUSY i i i *
-- SPDX-License-Identifier: MIT
-- Extend a client's liveness, wake consumers for messages that can be taken, and
-- return the state of each of the client's waiters.
-- KEYS for each queue: meta, ready, wait, live, delayed, leases, flight, dead,
--   died
-- ARGV client, liveness ms, grant ms, limit, n, then n entries
-- returns {BUSY, ms until more becomes due (-1 never), now us, 1, then for
--   each entry: QUEUED | GONE (it was woken: reserve again), 0, 0}
-- A retry or a late copy may wake more consumers, which find nothing.
--@include now
--@include number
--@include liveness
--@include entries
--@include wake_consumers
--@include next_due

local client, liveness, limit = ARGV[1], number_at(2, 1), number_at(4, 1)
check_entries(5)
if misuse then
  return misuse
end

local now = now_us()
local now_ms, queues = math.floor(now / 1000), #KEYS / QUEUE_KEYS
for at = 0, #KEYS - QUEUE_KEYS, QUEUE_KEYS do
  extend_liveness(KEYS[at + WAIT], KEYS[at + LIVE], client, now, liveness)
  local there = redis.call("LLEN", KEYS[at + READY]) +
    redis.call("ZCOUNT", KEYS[at + DELAYED], "-inf", now_ms) +
    redis.call("ZCOUNT", KEYS[at + LEASES], "-inf", lease_score(now_ms, SPAN - 1))
  if there > 0 then
    wake_consumers(at, math.min(there, limit), now_ms, liveness)
  end
end

local function state_of(entry)
  for at = 0, #KEYS - QUEUE_KEYS, QUEUE_KEYS do
    if not redis.call("ZSCORE", KEYS[at + WAIT], entry) then
      return GONE, 0, 0
    end
  end
  return QUEUED, 0, 0
end
return report_entries({ REQUEST + BUSY, next_due(queues, now_ms), now, 1 }, 5, state_of)
