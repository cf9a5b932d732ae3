-- SPDX-License-Identifier: MIT
-- Results of the core's recipe functions: lists of values, and waits for them.

local core = require "interlock.core"

local recipe_result = {}

--- Convert an ilk_items to a list; an error passes through.
---@param items userdata?
---@param msg string?
---@param code integer?
---@return string[]? values
---@return string? msg
---@return integer? code
function recipe_result.list(items, msg, code)
  if not items then
    return nil, msg, code
  end
  local values = {}
  for i = 1, core.ilk_items_count(items) do
    values[i] = core.ilk_items_data(items, i - 1)
  end
  return values
end

--- Return the only value, or false when there is none.
---@return string|false|nil value
---@return string? msg
---@return integer? code
function recipe_result.one(...)
  local values, msg, code = recipe_result.list(...)
  if not values then
    return nil, msg, code
  end
  return values[1] or false
end

--- Wait by `call`, a function of the milliseconds left that returns items. The
--- interpreter runs its signal handlers between two calls, so Ctrl-C takes effect
--- there, as an error that leaves this function.
---@param timeout_ms integer -1 for ever
---@param call fun(left: integer): userdata?, string?, integer?
---@return string[]|false|nil values false when none came in time
---@return string? msg
---@return integer? code
function recipe_result.wait(timeout_ms, call)
  local deadline = core.ilk_lua_clock_ms() + timeout_ms
  local left = timeout_ms
  while true do
    local items, msg, code = call(left)
    if items then
      return recipe_result.list(items)
    elseif code == core.ILK_EBUSY or code == core.ILK_ETIMEOUT then
      return false
    elseif code ~= core.ILK_EINTR then
      return nil, msg, code
    end
    if timeout_ms > 0 then
      left = math.max(deadline - core.ilk_lua_clock_ms(), 0)
    end
  end
end

--- Return true, false for ILK_ELOST, or the error.
---@return boolean? ok
---@return string? msg
---@return integer? code
function recipe_result.unless_lost(ok, msg, code)
  if ok then
    return true
  elseif code == core.ILK_ELOST then
    return false
  end
  return nil, msg, code
end

return recipe_result
