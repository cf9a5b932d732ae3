-- SPDX-License-Identifier: MIT
-- An end of a list among the arguments, refused as number.lua refuses numbers.
--@include number

local function end_at(index)
  local at = ARGV[index]
  if at ~= "L" and at ~= "R" then
    misuse = misuse or redis.error_reply("ILKARG argument " .. index ..
      " must be L or R, got '" .. tostring(at) .. "'")
  end
  return at
end
