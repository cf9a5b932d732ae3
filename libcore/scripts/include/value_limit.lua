-- SPDX-License-Identifier: MIT
-- Values that others put on a list, refused before they are taken when their
-- reader could not read them.
local function too_long(key, value, most)
  if #value > most then
    return redis.error_reply("ILKARG the next value of '" .. key .. "' has " .. #value ..
      " bytes, at most " .. most .. " can be read")
  end
end
