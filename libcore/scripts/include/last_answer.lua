-- SPDX-License-Identifier: MIT
-- The last answer to a caller, by the token of its request. Who asks again
-- because the reply was lost is told the same, and nothing is done twice.
-- Tokens have one length, so what stands behind one is the answer.
local KEEP_ANSWER_MS = 60000

local function answered(key, token)
  local record = redis.call("GET", key)
  if record and token ~= "" and record:sub(1, #token) == token then
    return record:sub(#token + 1)
  end
end

-- Without memory for it, what was done stays done.
local function remember(key, token, answer)
  redis.pcall("SET", key, token .. answer, "PX", KEEP_ANSWER_MS)
end
