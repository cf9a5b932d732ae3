-- SPDX-License-Identifier: MIT
-- The common part of the objects of events, latches, barriers, registers and
-- signals: fields that are read from a handle.

local core = require "interlock.core"

local object = {}

--- A metatable for objects of one kind.
---@param kind string its name for tostring() and errors
---@param methods table
---@param getters table<string, fun(handle: userdata): any> fields to read
---@return table
function object.metatable(kind, methods, getters)
  return {
    __index = function(self, key)
      local getter = getters[key]
      if getter then
        return getter(self._handle)
      end
      return methods[key]
    end,
    __newindex = function(_, key)
      error(("a %s has no field %q to set"):format(kind, tostring(key)), 2)
    end,
    __tostring = function(self)
      return ("%s %q"):format(kind, self.name)
    end,
  }
end

--- Make an object of what an _open of the generated module returned. A wrong
--- argument raises an error in the line that called the public function.
---@param meta table
---@param client interlock.Client
---@param name string
function object.wrap(meta, client, name, handle, msg, code)
  if code == core.ILK_EINVAL then
    error(msg, 3)
  elseif not handle then
    return nil, msg, code
  end
  local made = { name = name, _handle = handle, _ops = client._ops }
  return setmetatable(made, meta)
end

return object
