--@script store_commit keys=1* args=4+
--@reply WRITTEN i
--@reply STALE i
--@reply GONE
--@reply REFUSED
--@reply BUSY i s i s
-- SPDX-License-Identifier: MIT
-- Commit a transaction: write all its keys as of its timestamp, or none.
-- KEYS store, done, then the keys that it writes
-- ARGV id, timestamp (0: it has read nothing, and gets one), for one of several servers
--   its place (else ''), a number that a timestamp rises above, then for each key
--   `v<value>` or `d`
-- returns {WRITTEN, timestamp}
--   | {STALE, timestamp}: a later transaction has read or written one of the keys, or has
--     an intent there; the timestamp is the greatest of these
--   | {GONE}: it took longer than former versions are kept
--   | {REFUSED}: store_outcome has aborted it
--   | {BUSY, timestamp, id, ms, keys}: an earlier transaction over several servers has an
--     intent: since when, and what it writes (store.lua)
-- A retry or a late copy finds its id among those that are done, for 10 minutes.
--@include replicate_effects
--@include store_timestamp
--@include store_check
--@include store_write
--@include store_found
--@include store_done
--@include store_intent

local store, done = unpack(KEYS)
local id, at, above = ARGV[1], number_at(2, 0), number_at(4, 0)
place_at(3)
check_versions(5)
if misuse then
  return misuse
end

local now = now_us()
local committed, aborted = find_done(done, id)
local other = (at == 0 or place.list ~= "") and differs(store)
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
if at ~= 0 and is_too_late(seen, at) then
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
  write_version(KEYS[i], seen.versions[i], at, ARGV[i + 2], now)
end
redis.call("PERSIST", store)
note_done(done, "c " .. id, at, now)
return { REQUEST + WRITTEN, at }
