-- SPDX-License-Identifier: MIT
-- The intents that a transaction over several servers has left at one of them.

-- The rest of the reply to a reader or writer that meets an intent: how long ago it was written,
-- in ms, and the keys of its transaction ('' where an older version has written it).
local function about_intent(store, id, now)
  local text = redis.call("HGET", store, "intents:" .. id) or ""
  local at, keys = string.match(text, "^(%d+) (.*)$")
  return math.max(0, math.floor((now - (tonumber(at) or now)) / 1000)), keys or ""
end
