-- SPDX-License-Identifier: MIT
-- Records that the generated module fills, as plain tables.

local record = {}

--- Copy all fields; their names come from the header by way of the module.
---@param filled userdata
---@return table<string, any>
function record.totable(filled)
  local copy = {}
  for field, get in pairs(getmetatable(filled)[".get"]) do
    copy[field] = get(filled)
  end
  return copy
end

return record
