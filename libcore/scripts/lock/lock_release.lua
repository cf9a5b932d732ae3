--@script lock_release keys=5 args=1..5
--@reply RELEASED
--@reply RELEASED i i
--@reply LOST i i s
-- SPDX-License-Identifier: MIT
-- Release the lock and grant it to the first waiter.
-- KEYS lock, fence, wait, live, readers
-- ARGV token; optional: barge 0|1 (wake the first, grant nothing), liveness ms, grant
--   ms, limit
-- returns RELEASED | {RELEASED, more, denied}
--   | {LOST, born, broken, by}: see include/evidence.lua
-- A retry or a late copy finds the token gone and touches nobody's lock.
--
-- As in lock_acquire, the common cases come first: nobody waits, or the first waiter
-- gets the lock.

local lock, record, wait, live, token = KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[1]
local is_held = token ~= "" and token ~= READERS and redis.call("GET", lock) == token
if is_held and redis.call("EXISTS", wait) == 0 then
  redis.call("DEL", lock)
  return REQUEST + RELEASED
end

--@include fence_value
--@include kept_ms
--@include limits
--@include now
--@include reached

-- Do what grant() does when the first entry is one of this version for the whole lock, its
-- client is alive and gets the message, and no other library polls. Returns false in all
-- other cases, keys of another type among them; what was written then is what grant()
-- writes again.
local function hand_over()
  local text = redis.pcall("ZRANGE", wait, "0", "0")[1]
  local client, waiter, to, lease, who = string.match(text or "", "^1 x (%S+) (%S+) (%S+) ([1-9]%d*) %d+ ?(.*)$")
  local found = redis.pcall("HMGET", record, "fence", "kept", "polled")
  local last, kept = fence_value(found[1]), tonumber(found[2])
  local grant_text = ARGV[4] or ARGV[3] and "" or GRANT_MS
  local grant_ms, liveness = tonumber(grant_text), tonumber(ARGV[3] or LIVENESS_MS)
  if not client or not last or not kept or found[3] or not grant_ms or not liveness then
    return false
  end
  local now = now_us()
  local ms, alive = now / 1000, tonumber(redis.pcall("ZSCORE", live, client))
  if tonumber(lease) > grant_ms then
    lease = grant_text
  end
  -- The fence rises, the record is kept long enough, and the liveness is one that a client may have.
  if last >= now or kept <= ms + lease + KEPT_MS / 2 or not alive or alive <= ms or
    alive > ms + liveness * 10 then
    return false
  end
  local written = redis.pcall("HSET", record, "fence", now_text, "token", to,
    "since", string.sub(now_text, 1, -4), "who", client .. " " .. who, "given", now_text)
  if type(written) ~= "number" then
    return false -- the server is out of memory
  end
  if redis.pcall("SET", lock, to, "PX", lease).err then
    return false
  end
  local receivers = redis.pcall("PUBLISH", "ilk:inbox:" .. client,
    "1 grant " .. waiter .. " " .. to .. " " .. now_text .. " " .. lease .. " " .. now_text .. " " .. lock)
  if type(receivers) ~= "number" or receivers + REACHED_LEAST == 0 then
    return false
  end
  redis.call("ZREM", wait, text)
  return true
end

if is_held and ARGV[2] ~= "1" and hand_over() then
  return REQUEST + RELEASED
end

--@include replicate_effects
--@include token
--@include limits_at
local liveness, grant_ms, limit = limits_at(3)
local mode = ARGV[2] == "1" and "barge" or nil
token = token_at(1)
if misuse then
  return misuse
end

if not is_held then
  --@include evidence
  return lost(record, token)
end
redis.call("DEL", lock)

--@include grant
local more, denied = grant(1, grant_ms, limit, liveness, mode, nil, "open")
return { REQUEST + RELEASED, more, denied }
