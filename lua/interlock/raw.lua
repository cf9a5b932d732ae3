-- SPDX-License-Identifier: MIT
-- What the recipes share: values that were read, and waits for them.

local core = require "interlock.core"

local raw = {}

--- The values of an ilk_items as a list; failures pass through.
---@param items userdata?
---@param msg string?
---@param code integer?
---@return string[]? values
---@return string? msg
---@return integer? code
function raw.list(items, msg, code)
  if not items then
    return nil, msg, code
  end
  local values = {}
  for i = 1, core.ilk_items_count(items) do
    values[i] = core.ilk_items_data(items, i - 1)
  end
  return values
end

--- The only value, or false when there is none.
---@return string|false|nil value
---@return string? msg
---@return integer? code
function raw.one(...)
  local values, msg, code = raw.list(...)
  if not values then
    return nil, msg, code
  end
  return values[1] or false
end

--- Wait by `take`, a function of the milliseconds left that answers items.
--- The interpreter runs its signal handlers between two turns, so Ctrl-C
--- takes effect there, as an error that leaves this function.
---@param timeout_ms integer -1 for ever
---@param take fun(left: integer): userdata?, string?, integer?
---@return string[]|false|nil values false when none came in time
---@return string? msg
---@return integer? code
function raw.wait(timeout_ms, take)
  local deadline = core.ilk_lua_clock_ms() + timeout_ms
  local left = timeout_ms
  while true do
    local items, msg, code = take(left)
    if items then
      return raw.list(items)
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

--- true; false for what ILK_ELOST says; or the failure.
---@return boolean? ok
---@return string? msg
---@return integer? code
function raw.unless_lost(ok, msg, code)
  if ok then
    return true
  elseif code == core.ILK_ELOST then
    return false
  end
  return nil, msg, code
end

return raw
