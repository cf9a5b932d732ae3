-- SPDX-License-Identifier: MIT
-- Refuses a value that another program put on a list, before it is taken, if it
-- is too long for the client to read.
local function too_long(key, value, most)
  if #value > most then
    return redis.error_reply("ILKARG the next value of '" .. key .. "' has " .. #value ..
      " bytes, at most " .. most .. " can be read")
  end
end
