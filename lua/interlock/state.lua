-- SPDX-License-Identifier: MIT
-- What events, latches and barriers have in common: objects around a handle,
-- and waiting.

local core = require "interlock.core"

local state = {}

-- The interpreter runs its signal handlers between two turns, so Ctrl-C
-- takes effect there, as an error that leaves this function.
local function turn(handle, timeout_ms, take)
  local deadline = core.ilk_lua_clock_ms() + timeout_ms
  local left = timeout_ms
  while true do
    local ok, msg, code = take(handle, left)
    if code ~= core.ILK_EINTR then
      return ok, msg, code
    end
    if timeout_ms > 0 then
      left = deadline - core.ilk_lua_clock_ms()
    end
    if timeout_ms > 0 and left <= 0 then -- signals came to the very end
      return nil, core.ilk_strerror(core.ILK_ETIMEOUT), core.ILK_ETIMEOUT
    end
  end
end

--- Wait by `take`, a function of the handle and the milliseconds left; what
--- ends it otherwise than by an answer ends it on the server as well.
---@param handle userdata
---@param cancel fun(handle: userdata)
---@param timeout_ms integer -1 for ever
---@param take fun(handle: userdata, left_ms: integer): any, string?, integer?
function state.wait(handle, cancel, timeout_ms, take)
  local ran, ok, msg, code = pcall(turn, handle, timeout_ms, take)
  if not ran then
    cancel(handle)
    error(ok, 0)
  end
  if ok then
    return ok
  elseif code == core.ILK_ETIMEOUT then
    cancel(handle)
  end
  return nil, msg, code
end

--- A metatable for objects of one kind.
---@param kind string what tostring() says
---@param methods table
---@param getters table<string, fun(handle: userdata): any> fields to read
---@return table
function state.metatable(kind, methods, getters)
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

--- What an _open of the generated module answered, as an object. A wrong
--- argument is raised in the line that called the public function.
---@param meta table
---@param name string
function state.wrap(meta, name, handle, msg, code)
  if code == core.ILK_EINVAL then
    error(msg, 3)
  elseif not handle then
    return nil, msg, code
  end
  return setmetatable({ name = name, _handle = handle }, meta)
end

return state
