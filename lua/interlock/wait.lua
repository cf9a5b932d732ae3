-- SPDX-License-Identifier: MIT
-- Waiting by a handle: for a lock, a message, an event, whatever comes.

local core = require "interlock.core"

local wait = {}

-- The interpreter runs its signal handlers between two turns, so Ctrl-C
-- takes effect there, as an error that leaves this function.
local function turns(handle, timeout_ms, ask, leave)
  local deadline = core.ilk_lua_clock_ms() + timeout_ms
  local left = timeout_ms
  while true do
    local found, msg, code = ask(handle, left)
    if code ~= core.ILK_EINTR then
      return found, msg, code
    end
    if timeout_ms > 0 then
      left = deadline - core.ilk_lua_clock_ms()
    end
    if timeout_ms > 0 and left <= 0 then -- signals came to the very end
      leave(handle)
      return nil, core.ilk_strerror(core.ILK_ETIMEOUT), core.ILK_ETIMEOUT
    end
  end
end

--- Wait by `ask`, a function of the handle and the milliseconds left; an
--- error gives the place in the wait queue up by `leave`.
---@param handle userdata
---@param timeout_ms integer -1 for ever, 0 once
---@param ask fun(handle: userdata, left: integer): any
---@param leave fun(handle: userdata)
---@param abandon fun()? after an error, what else is to be given up
---@return any? found
---@return string? msg
---@return integer? code
function wait.by(handle, timeout_ms, ask, leave, abandon)
  local ran, found, msg, code = pcall(turns, handle, timeout_ms, ask, leave)
  if not ran then
    leave(handle)
    if abandon then
      abandon()
    end
    error(found, 0)
  elseif found then
    return found
  end
  return nil, msg, code
end

return wait
