-- SPDX-License-Identifier: MIT
-- Whether a transaction may write its keys: no later transaction has read or written one
-- of them.
--@include store_key

-- The argument of the key with this index, `first` being that of the first key.
local function check_versions(first)
  if #KEYS < 3 or #ARGV ~= #KEYS - 3 + first then
    misuse = misuse or redis.error_reply("ILKARG a transaction writes keys, each one value")
  end
  for i = first, #ARGV do
    if not string.find(ARGV[i], "^[vd]") then
      misuse = misuse or redis.error_reply("ILKARG argument " .. i .. " must be a version")
    end
  end
end

-- All keys are looked at before one is written. Returns what is there: `read` and
-- `written`, the greatest timestamps; `versions` of each key; `own`, the timestamp of its
-- own intents; and of other transactions' intents the greatest timestamp with its id.
local function look_at_keys(id)
  local seen = { read = 0, written = 0, versions = {}, intent = 0 }
  for i = 3, #KEYS do
    local read, versions, intent, by = read_key(KEYS[i])
    seen.read = math.max(seen.read, read)
    seen.written = math.max(seen.written, newest(versions) or 0)
    seen.versions[i] = versions
    if intent and by == id then
      seen.own = intent
    elseif intent and intent > seen.intent then
      seen.intent, seen.by = intent, by
    end
  end
  return seen
end

local function is_too_late(seen, at)
  return seen.read > at or seen.written >= at or seen.intent > at
end
