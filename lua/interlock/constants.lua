-- SPDX-License-Identifier: MIT
-- The header's enums as Lua tables, read from the generated module.

local core = require "interlock.core"

local constants = {}

--- Status codes by name and names by code: status.ILK_EBUSY, status[-4].
---@type table<string|integer, integer|string>
constants.status = {}

for name, value in pairs(core) do
  if type(value) == "number" and core.ilk_status_name(value) == name then
    constants.status[name] = value
    constants.status[value] = name
  end
end

--- The members of an enum as lower-case names: names("ILK_INFO_")[1] is "held".
---@param prefix string what the members' names begin with
---@return table<integer, string>
function constants.names(prefix)
  local found = {}
  for name, value in pairs(core) do
    if type(value) == "number" and name:sub(1, #prefix) == prefix then
      found[value] = name:sub(#prefix + 1):lower()
    end
  end
  return found
end

return constants
