-- SPDX-License-Identifier: MIT
-- Checks tokens in the arguments, as number.lua checks numbers.
--@include number

local function token_at(index)
  local token = ARGV[index]
  if not token or token == "" or token == READERS then
    misuse = misuse or redis.error_reply("ILKARG argument " .. index ..
      " must be a token, got '" .. tostring(token) .. "'")
  end
  return token
end
