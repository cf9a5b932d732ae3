-- SPDX-License-Identifier: MIT
-- What the holds of one name have beside what every hold has: a lease for one
-- acquire only, and a hold that moves to another process.

local args = require "interlock.args"
local hold = require "interlock.hold"

---@class interlock.NamedHold: interlock.Hold
local NamedHold = {}

--- Take it, after those who asked before.
---
--- Blocks until it is ours, the time is over, or Ctrl-C raises an error.
---@param timeout_ms number? milliseconds; 0 tries once, nil waits for ever
---@param ttl_ms number? a lease for this acquire only
---@return true? ok
---@return string? msg
---@return integer? code ILK_EBUSY for 0, ILK_ETIMEOUT otherwise, and others
function NamedHold:acquire(timeout_ms, ttl_ms)
  local ms = args.timeout("timeout_ms", timeout_ms)
  local lease = args.duration("ttl_ms", ttl_ms)
  local functions = self._functions
  local take = functions.acquire
  if lease > 0 then
    take = function(handle, left)
      return functions.acquire_ttl(handle, left, lease)
    end
  end
  local ok, msg, code = hold.acquire(self, ms, take)
  return ok, msg, code
end

--- Start acquire().
---@param timeout_ms number? as for acquire
---@param ttl_ms number? a lease for this acquire only
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function NamedHold:acquire_start(timeout_ms, ttl_ms)
  local ms = args.timeout("timeout_ms", timeout_ms)
  local lease = args.duration("ttl_ms", ttl_ms)
  return hold.start(self, "acquire", ms, lease)
end

--- Stop renewing and give the hold away under its token.
---@return string? token what another process passes to adopt()
---@return string? msg
---@return integer? code
function NamedHold:detach()
  local ok, msg, code = self._functions.detach(self._handle)
  if not ok then
    return nil, msg, code
  end
  return self.token
end

--- Take over a hold by its token; the fence stays.
---@param token string what detach() returned
---@return true? ok
---@return string? msg
---@return integer? code ILK_ELOST: no longer held under this token
function NamedHold:adopt(token)
  args.bytes("token", token)
  return self._functions.adopt(self._handle, token)
end

--- Start adopt().
---@param token string what detach() returned
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function NamedHold:adopt_start(token)
  args.bytes("token", token)
  return hold.start(self, "adopt", token)
end

local named_hold = {}

--- Put these methods beside a kind's own.
---@param methods table
---@return table # the same
function named_hold.add(methods)
  for name, method in pairs(NamedHold) do
    methods[name] = method
  end
  return methods
end

return named_hold
