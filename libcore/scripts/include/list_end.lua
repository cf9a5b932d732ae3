-- SPDX-License-Identifier: MIT
-- Checks an argument that names an end of a list. Returns the error for the
-- caller to return, or nil.
local function not_list_end(index)
  if ARGV[index] ~= "L" and ARGV[index] ~= "R" then
    return redis.error_reply("ILKARG argument " .. index ..
      " must be L or R, got '" .. tostring(ARGV[index]) .. "'")
  end
end
