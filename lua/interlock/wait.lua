-- SPDX-License-Identifier: MIT
-- Waits by a handle: for a lock, for a message or for a change of state.

local core = require "interlock.core"

local wait = {}

local INTERRUPTED_MS = 1000 -- beyond its time a wait that is interrupted tries to end

-- The interpreter runs its signal handlers between two calls, so Ctrl-C takes
-- effect there, as an error that leaves this function. When the time is up after an
-- interrupt, one more call of a millisecond ends the wait: only the core knows whether
-- the server is in reach.
local function poll(handle, timeout_ms, call, leave)
  local deadline = core.ilk_lua_clock_ms() + timeout_ms
  local left = timeout_ms
  while true do
    local found, msg, code = call(handle, left)
    if code ~= core.ILK_EINTR then
      return found, msg, code
    end
    if timeout_ms > 0 then
      left = math.max(deadline - core.ilk_lua_clock_ms(), 1)
    end
    if timeout_ms > 0 and core.ilk_lua_clock_ms() > deadline + INTERRUPTED_MS then
      leave(handle)
      return nil, core.ilk_strerror(core.ILK_ETIMEOUT), core.ILK_ETIMEOUT
    end
  end
end

--- Wait by `call`, a function of the handle and the milliseconds left. After an
--- error `leave` gives up the place in the wait queue.
---@param handle userdata
---@param timeout_ms integer -1 for ever, 0 once
---@param call fun(handle: userdata, left: integer): any
---@param leave fun(handle: userdata)
---@param abandon fun()? gives up what else the wait has got, after an error
---@return any? found
---@return string? msg
---@return integer? code
function wait.by(handle, timeout_ms, call, leave, abandon)
  local ran, found, msg, code = pcall(poll, handle, timeout_ms, call, leave)
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
