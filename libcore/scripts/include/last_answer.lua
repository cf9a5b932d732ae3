-- SPDX-License-Identifier: MIT
-- The last answer to a caller, with the token of its request. A retry, whose
-- reply was lost, returns the same, and nothing is done twice. All tokens have
-- one length, so the rest of the string is the answer.
local KEEP_ANSWER_MS = 60000

local function answered(key, token)
  local record = redis.call("GET", key)
  if record and token ~= "" and record:sub(1, #token) == token then
    return record:sub(#token + 1)
  end
end

-- A server out of memory refuses this; the request itself stays done.
local function remember(key, token, answer)
  redis.pcall("SET", key, token .. answer, "PX", KEEP_ANSWER_MS)
end
