-- SPDX-License-Identifier: MIT
-- The orderly end of a Lua state closes the clients that are open, which releases what
-- they renew.
--
-- A state that is closed calls all finalizers, those of the youngest objects first. So
-- the sentinel here has to be younger than every handle: each handle makes a new one,
-- and the former one becomes garbage. Its finalizer sees that it is not the last.

local core = require "interlock.core"

local newproxy = rawget(_G, "newproxy")

local at_close = {}

local clients = setmetatable({}, { __mode = "k" })
local last

--- A value whose finalizer runs fn, with the value, when the value is collected.
---@param fn fun(self: any)
function at_close.sentinel(fn)
  if newproxy then -- Lua 5.1 and LuaJIT finalize only userdata
    local made = newproxy(true)
    getmetatable(made).__gc = fn
    return made
  end
  return setmetatable({}, { __gc = fn })
end

local function finalize(self)
  if self ~= last then
    return
  end
  for client in pairs(clients) do
    core.ilk_client_close(client._handle) -- a forked child closes nothing
  end
end

--- A handle was made. To be called after it.
function at_close.renew()
  last = at_close.sentinel(finalize)
end

--- Close this client when the state is closed.
---@param client interlock.Client
function at_close.add(client)
  clients[client] = true
  at_close.renew()
end

return at_close
