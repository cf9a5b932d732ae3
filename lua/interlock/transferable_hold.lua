-- SPDX-License-Identifier: MIT
-- The functions that only locks and semaphores have: a lease for one acquire,
-- and a hold that moves to another process by its token.

local core = require "interlock.core"
local args = require "interlock.args"
local hold = require "interlock.hold"
local kept_holds = require "interlock.kept_holds"

---@class interlock.TransferableHold: interlock.Hold
local TransferableHold = {}

--- Acquire, waiting behind all earlier waiters.
---
--- Blocks until it is acquired, the time is over, or Ctrl-C raises an error.
---@param timeout_ms number? milliseconds; 0 tries once, nil waits for ever
---@param ttl_ms number? a lease for this acquire only
---@return true? ok
---@return string? msg
---@return integer? code ILK_EBUSY for 0, ILK_ETIMEOUT otherwise, and others
---@return string? token with ILK_EHELD: of the hold of a collected object
function TransferableHold:acquire(timeout_ms, ttl_ms)
  local ms = args.timeout("timeout_ms", timeout_ms)
  local lease = args.duration("ttl_ms", ttl_ms)
  local functions = self._functions
  local call = functions.acquire
  if lease > 0 then
    call = function(handle, left)
      return functions.acquire_ttl(handle, left, lease)
    end
  end
  return hold.acquire(self, ms, call)
end

--- Start acquire().
---@param timeout_ms number? as for acquire
---@param ttl_ms number? a lease for this acquire only
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function TransferableHold:acquire_start(timeout_ms, ttl_ms)
  local ms = args.timeout("timeout_ms", timeout_ms)
  local lease = args.duration("ttl_ms", ttl_ms)
  return hold.start(self, "acquire", ms, lease)
end

--- Stop renewing and give the hold away; returns its token.
---@return string? token what another process passes to adopt()
---@return string? msg
---@return integer? code
function TransferableHold:detach()
  local ok, msg, code = self._functions.detach(self._handle)
  if not ok then
    return nil, msg, code
  end
  return self.token
end

--- Take over the hold with this token; its fence stays the same. Where the store keeps
--- no detached holds, only the hold of a collected object of this client is taken.
---@param token string what detach() returned
---@return true? ok
---@return string? msg
---@return integer? code ILK_ELOST: no hold with this token exists any more
function TransferableHold:adopt(token)
  args.bytes("token", token)
  local ok, msg, code = self._functions.adopt(self._handle, token)
  if ok or code == core.ILK_ELOST then
    kept_holds.drop(self, token)
  elseif code == core.ILK_EUNSUPPORTED and hold.take_back(self, token) then
    return true
  end
  return ok, msg, code
end

--- Start adopt().
---@param token string what detach() returned
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function TransferableHold:adopt_start(token)
  args.bytes("token", token)
  local started, msg, code = hold.start(self, "adopt", token)
  if not started then
    return nil, msg, code
  end
  function started._read()
    kept_holds.drop(self, token)
    return true
  end
  return started
end

local transferable_hold = {}

--- Add these methods to those of a kind.
---@param methods table
---@return table # the same
function transferable_hold.add(methods)
  for name, method in pairs(TransferableHold) do
    methods[name] = method
  end
  return methods
end

return transferable_hold
