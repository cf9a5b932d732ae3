--@script store_prepare keys=1* args=5+
--@reply WRITTEN i
--@reply STALE i
--@reply GONE
--@reply REFUSED
--@reply BUSY i s i s
-- SPDX-License-Identifier: MIT
-- The first phase of a commit over several servers: this one writes an intent for each of
-- its keys, or for none. The intents stay until the decision, however long that takes.
-- KEYS store, done, then the keys that the transaction writes here
-- ARGV id, timestamp (0: it has read nothing, and gets one), place, a number that a
--   timestamp rises above, the keys of the whole transaction (store.lua), then for each key
--   here `v<value>` or `d`
-- returns {WRITTEN, timestamp}, also when the intents are there, or the transaction has
--     been committed
--   | {STALE, timestamp}: a later transaction has read or written one of the keys, or has
--     an intent there; the timestamp is the greatest of these
--   | {GONE}: it took longer than former versions are kept
--   | {REFUSED}: it was aborted
--   | {BUSY, timestamp, id, ms, keys}: an earlier transaction has an intent
-- A retry finds the intents. A late copy finds that the transaction has ended.
--@include replicate_effects
--@include store_timestamp
--@include store_check
--@include store_found
--@include store_intent

local store, done = unpack(KEYS)
local id, at, above = ARGV[1], number_at(2, 0), number_at(4, 0)
place_at(3)
check_versions(6)
if misuse then
  return misuse
end

local now = now_us()
local committed, aborted = find_done(done, id)
local other = differs(store)
if committed then
  return { REQUEST + WRITTEN, committed }
elseif aborted then
  return { REQUEST + REFUSED }
elseif other then
  return other
elseif at ~= 0 and at < now - KEEP_US then
  return { REQUEST + GONE }
end
local seen = look_at_keys(id)
if seen.own then
  return { REQUEST + WRITTEN, seen.own }
elseif at ~= 0 and is_too_late(seen, at) then
  return { REQUEST + STALE, math.max(seen.read, seen.written, seen.intent) }
elseif seen.by then
  return { REQUEST + BUSY, seen.intent, seen.by, about_intent(store, seen.by, now) }
elseif at == 0 then
  at = give_timestamp(store, now, math.max(above, seen.read, seen.written))
  if not at then
    return no_timestamp(store)
  end
end
for i = 3, #KEYS do
  redis.call("HSET", KEYS[i], "intent", digits(at) .. " " .. id, "intended", ARGV[i + 3])
  redis.call("PERSIST", KEYS[i])
end
redis.call("HSET", store, "intents:" .. id, digits(now) .. " " .. ARGV[5])
redis.call("PERSIST", store)
return { REQUEST + WRITTEN, at }
