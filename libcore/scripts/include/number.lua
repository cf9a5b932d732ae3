-- SPDX-License-Identifier: MIT
-- Numbers among the arguments. The caller returns `misuse` when it is set,
-- before it has written anything.
local misuse

local function number_at(index, least)
  local number = tonumber(ARGV[index])
  if number and number >= least and number < 9007199254740992 and number % 1 == 0 then
    return number
  end
  misuse = misuse or redis.error_reply("ILKARG argument " .. index ..
    " must be a whole number from " .. least .. ", got '" .. tostring(ARGV[index]) .. "'")
  return least
end
