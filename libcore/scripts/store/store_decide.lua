--@script store_decide keys=2 args=4
--@reply WRITTEN
--@reply REFUSED
-- SPDX-License-Identifier: MIT
-- Decide a commit over several servers, after all of them have its intents. Only this
-- server decides, because the ring gives it the transaction's id. It commits, unless
-- somebody has aborted the transaction. An abort is remembered for 10 minutes only, so a
-- request that comes later than a transaction may last aborts: its client was frozen, and
-- others may have dropped its intents long ago.
-- KEYS done, store
-- ARGV id, timestamp, place, the keys of the whole transaction (store.lua)
-- returns {WRITTEN}: it is committed | {REFUSED}: it is aborted
-- A retry or a late copy finds the decision, until all servers know it, and then for 10
-- minutes.
--@include replicate_effects
--@include now
--@include store_place
--@include store_found
--@include store_done

local done, store, id, at = KEYS[1], KEYS[2], ARGV[1], number_at(2, 1)
place_at(3)
if misuse then
  return misuse
end

local now = now_us()
local committed, aborted = find_done(done, id)
local other = differs(store)
if committed or redis.call("HGET", store, "decided:" .. id) then
  return { REQUEST + WRITTEN }
elseif aborted then
  return { REQUEST + REFUSED }
elseif other then
  return other
elseif at < now - KEEP_US then
  note_done(done, "a " .. id, now, now)
  return { REQUEST + REFUSED }
end
redis.call("HSET", store, "decided:" .. id, digits(at) .. " " .. digits(now) .. " " .. ARGV[4])
redis.call("PERSIST", store)
note_done(done, "c " .. id, at, now)
return { REQUEST + WRITTEN }
