-- SPDX-License-Identifier: MIT
-- A member of a group, by the id and the token among the arguments.
--@include group
--@include token

local function member_at(index)
  local id, token = ARGV[index], token_at(index + 1)
  if #id == 0 or #id > 512 then
    misuse = misuse or redis.error_reply("ILKARG an id must have 1 to 512 bytes, got " .. #id)
  elseif string.find(token, " ", 1, true) then
    misuse = misuse or redis.error_reply("ILKARG a token has no space, got '" .. token .. "'")
  end
  return id, token
end

-- Returns the server ms at which the member's lease ends, 0 when there is none;
-- whether it is the one of this token; its value.
local function read_member(id, token)
  local ends = tonumber(redis.call("ZSCORE", group.members, id) or 0)
  local value, prefix = redis.call("HGET", group.data, id), "1 " .. token .. " "
  return ends, value and string.sub(value, 1, #prefix) == prefix, value
end
