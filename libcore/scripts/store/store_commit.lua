--@script store_commit keys=1* args=2+
--@reply WRITTEN i
--@reply STALE
--@reply GONE
--@reply REFUSED
-- SPDX-License-Identifier: MIT
-- Commit a transaction: write all its keys as of its timestamp, or none.
-- KEYS store, done, then the keys that it writes
-- ARGV id, timestamp (0: it has read nothing, and gets one), then for each key `v<value>`
--   or `d`
-- returns {WRITTEN, timestamp}
--   | {STALE}: a later transaction has read or written one of the keys
--   | {GONE}: it took longer than former versions are kept
--   | {REFUSED}: store_outcome has aborted it
-- A retry or a late copy finds its id among those that are done, for 10 minutes.
--@include replicate_effects
--@include store_timestamp
--@include store_key
--@include store_done

-- Versions of a key that are kept at most.
local VERSIONS_MOST = 64

local store, done = unpack(KEYS)
local id, at = ARGV[1], number_at(2, 0)
if #KEYS < 3 or #ARGV ~= #KEYS then
  misuse = misuse or redis.error_reply("ILKARG a commit writes keys, each one value")
end
for i = 3, #KEYS do
  if not string.find(ARGV[i] or "", "^[vd]") then
    misuse = misuse or redis.error_reply("ILKARG argument " .. i .. " must be a version")
  end
end
if misuse then
  return misuse
end

local now = now_us()
local committed, aborted = find_done(done, id)
if committed then
  return { REQUEST + WRITTEN, committed }
elseif aborted then
  return { REQUEST + REFUSED }
elseif at ~= 0 and at < now - KEEP_US then
  return { REQUEST + GONE }
end

-- All keys are looked at before one is written.
local last_read, last_written, histories = 0, 0, {}
for i = 3, #KEYS do
  local read, versions = read_key(KEYS[i])
  last_read = math.max(last_read, read)
  last_written = math.max(last_written, versions[#versions] or 0)
  histories[i] = versions
end
if at == 0 then
  at = give_timestamp(store, now, math.max(last_read, last_written))
  if not at then
    return no_timestamp(store)
  end
elseif last_read > at or last_written >= at then
  return { REQUEST + STALE }
end

-- Those before the last one that a transaction may still read, and those that are too
-- many.
local function count_dropped(versions)
  local dropped = math.max(#versions - VERSIONS_MOST, 0)
  while dropped + 1 < #versions and versions[dropped + 2] <= now - KEEP_US do
    dropped = dropped + 1
  end
  return dropped
end

local function write(key, versions, version)
  versions[#versions + 1] = at
  local dropped = count_dropped(versions)
  local kept = {}
  for i = dropped + 1, #versions do
    kept[#kept + 1] = digits(versions[i])
  end
  redis.call("HSET", key, digits(at), version, "versions", table.concat(kept, " "))
  if dropped > 0 then
    redis.call("HSET", key, "cut", 1)
  end
  for i = 1, dropped do
    redis.call("HDEL", key, digits(versions[i]))
  end
  if version == "d" then
    redis.call("PEXPIRE", key, GONE_MS)
  else
    redis.call("PERSIST", key)
  end
end

for i = 3, #KEYS do
  write(KEYS[i], histories[i], ARGV[i])
end
redis.call("PERSIST", store)
note_done(done, "c " .. id, at, now)
return { REQUEST + WRITTEN, at }
