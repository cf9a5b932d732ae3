-- SPDX-License-Identifier: MIT
-- An end of a list among the arguments; what the caller returns when it is no
-- such end.
local function not_list_end(index)
  if ARGV[index] ~= "L" and ARGV[index] ~= "R" then
    return redis.error_reply("ILKARG argument " .. index ..
      " must be L or R, got '" .. tostring(ARGV[index]) .. "'")
  end
end
