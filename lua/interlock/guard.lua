-- SPDX-License-Identifier: MIT
-- A value in Redis that refuses writes with an older fence.

local core = require "interlock.core"
local args = require "interlock.args"
local op = require "interlock.op"

---@class interlock.Guard
---@field key string
local Guard = {}

local meta = { __index = Guard }

---@class interlock.Value
---@field value string? nil when the key does not exist
---@field fence integer the greatest that has written or read; 0 for none

--- Write a value under a fence.
---@param value string any bytes
---@param fence integer lock.fence; 0 writes without a check
---@return true? ok
---@return string? msg
---@return integer? code ILK_ESTALE: a greater fence is on record
function Guard:set(value, fence)
  args.bytes("value", value)
  args.fence("fence", fence)
  return core.ilk_guard_set(self._handle, self.key, fence, value)
end

--- Start set().
---@param value string any bytes
---@param fence integer lock.fence; 0 writes without a check
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Guard:set_start(value, fence)
  args.bytes("value", value)
  args.fence("fence", fence)
  return op.wrap(self, op.ok,
    core.ilk_guard_set_start(self._handle, self.key, fence, value))
end

local function to_table(value)
  return {
    value = core.ilk_value_data(value),
    fence = core.ilk_value_fence(value),
  }
end

--- Read the value; pass a fence when a write depends on it. The same step
--- records the fence, as a write does: after it no former holder can change the
--- value.
---@param fence integer? lock.fence; nil and 0 only read
---@return interlock.Value? found
---@return string? msg
---@return integer? code ILK_ESTALE: a greater fence is on record
function Guard:get(fence)
  if fence ~= nil then
    args.fence("fence", fence)
  end
  local value, msg, code =
    core.ilk_guard_get(self._handle, self.key, fence or 0)
  if not value then
    return nil, msg, code
  end
  return to_table(value)
end

--- Start get().
---@param fence integer? as for get
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Guard:get_start(fence)
  if fence ~= nil then
    args.fence("fence", fence)
  end
  return op.wrap(self, function(handle)
    return to_table(core.ilk_op_value(handle))
  end, core.ilk_guard_get_start(self._handle, self.key, fence or 0))
end

--- Remove the value and its fence, without checking a fence.
---@return true? ok
---@return string? msg
---@return integer? code
function Guard:remove()
  return core.ilk_guard_remove(self._handle, self.key)
end

--- Start remove().
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Guard:remove_start()
  return op.wrap(self, op.ok,
    core.ilk_guard_remove_start(self._handle, self.key))
end

local guard = {}

--- Guard a key; nothing is sent.
--- client:guard(key), interlock.guard(client, key)
---@param client interlock.Client
---@param key string 1 to 512 bytes, any bytes but a leading "ilk:"
---@return interlock.Guard
function guard.open(client, key)
  args.bytes("key", key)
  local fields = { key = key, _handle = client._handle, _ops = client._ops }
  return setmetatable(fields, meta)
end

return guard
