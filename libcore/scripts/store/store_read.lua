--@script store_read keys=2 args=3
--@reply STATE i i s
--@reply STALE
--@reply GONE
--@reply BUSY i s i s
-- SPDX-License-Identifier: MIT
-- Read a key as of a transaction's timestamp. No transaction with an earlier one may write
-- it from then on.
-- KEYS store, key
-- ARGV timestamp (0: the transaction has none yet, and gets one), for one of several
--   servers its place (else ''), a number that a timestamp rises above
-- returns {STATE, timestamp, 1 if there is a value, value}
--   | {STALE}: the version is no longer kept
--   | {GONE}: the transaction took longer than former versions are kept
--   | {BUSY, timestamp, id, ms, keys}: an earlier transaction over several servers has an
--     intent: since when, and what it writes (store.lua)
-- A retry or a late copy without a timestamp gets another one. Nobody uses that of a late
-- copy, but it counts as a later read: because of it the transaction may be refused, and
-- begins again.
--@include replicate_effects
--@include store_timestamp
--@include store_key
--@include store_intent

-- As newest(), of the versions that are not above `at`.
local function newest_until(versions, at)
  local last, digits_of = newest(versions)
  if not last or last <= at then
    return last, digits_of
  end
  local found, digits_found
  for word in string.gmatch(versions, "%d+") do
    if tonumber(word) > at then
      break
    end
    found, digits_found = tonumber(word), word
  end
  return found, digits_found
end

local store, key = KEYS[1], KEYS[2]
local at, above = number_at(1, 0), number_at(3, 0)
place_at(2)
if misuse then
  return misuse
end

local now = now_us()
local other = (at == 0 or place.list ~= "") and differs(store)
if other then
  return other
end
local read, versions, intent, by = read_key(key)
if intent and (at == 0 or intent <= at) then
  return { REQUEST + BUSY, intent, by, about_intent(store, by, now) }
elseif at == 0 then
  at = give_timestamp(store, now, math.max(above, read, newest(versions) or 0))
  if not at then
    return no_timestamp(store)
  end
elseif at < now - KEEP_US then
  return { REQUEST + GONE }
end
local seen, seen_digits = newest_until(versions, at)
local value = seen and redis.call("HGET", key, seen_digits) or "d"
if not seen and redis.call("HGET", key, "cut") then
  return { REQUEST + STALE }
end
local has_value = string.sub(value, 1, 1) == "v"
if read < at then
  redis.call("HSET", key, "read", digits(at))
  if not has_value and seen == newest(versions) then
    redis.call("PEXPIRE", key, GONE_MS)
  end
end
return { REQUEST + STATE, at, has_value and 1 or 0, string.sub(value, 2) }
