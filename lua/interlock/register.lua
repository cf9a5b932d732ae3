-- SPDX-License-Identifier: MIT
-- The register: one value with a version, for compare-and-set.

local core = require "interlock.core"
local args = require "interlock.args"
local op = require "interlock.op"
local object = require "interlock.object"
local wait = require "interlock.wait"

---@class interlock.Register
---@field name string
---@field value string? that this object last saw; nil for none
---@field version integer that this object last saw; 0 when none is on record
local Register = {}

local meta = object.metatable("register", Register, {
  value = core.ilk_register_value,
  version = core.ilk_register_version,
})

-- The version and the value that a call has shown, or the call's error.
local function with_state(self, ok, msg, code)
  if not ok then
    return nil, msg, code
  end
  return self.version, self.value
end

-- The version after a call, or the call's error.
local function with_version(self, ok, msg, code)
  if not ok then
    return nil, msg, code
  end
  return self.version
end

-- The same for operations.
local function start_with_state(self, ...)
  return op.wrap(self, function()
    return self.version, self.value
  end, ...)
end

local function start_with_version(self, ...)
  return op.wrap(self, function()
    return self.version
  end, ...)
end

local function version_or_any(version)
  if version == nil then
    return core.ILK_REGISTER_ANY
  end
  return args.fence("version", version)
end

--- Read the version and the value.
---@return integer? version 0: nothing is on record
---@return string? value nil when there is none; or msg
---@return integer? code
function Register:get()
  return with_state(self, core.ilk_register_get(self._handle))
end

--- Start get().
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Register:get_start()
  return start_with_state(self, core.ilk_register_get_start(self._handle))
end

--- Write a value of up to 64 KiB, whatever is there, and wake all waiters.
---@param value string any bytes
---@return integer? version greater than the last
---@return string? msg
---@return integer? code ILK_EAUTH: written, but this user may not PUBLISH to waiters
function Register:set(value)
  args.bytes("value", value)
  return with_version(self, core.ilk_register_set(self._handle, value))
end

--- Start set().
---@param value string any bytes
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Register:set_start(value)
  args.bytes("value", value)
  return start_with_version(self, core.ilk_register_set_start(self._handle, value))
end

--- Write a value if the register still has this version. A refusal is seen in the
--- fields version and value, which are then those on record.
---@param version integer the one that is known; 0 writes if nothing is on record
---@param value string any bytes
---@return integer? version greater than the last
---@return string? msg
---@return integer? code ILK_ESTALE: it has another version, nothing was changed
function Register:cas(version, value)
  local known = args.fence("version", version)
  args.bytes("value", value)
  return with_version(self, core.ilk_register_cas(self._handle, known, value))
end

--- Start cas().
---@param version integer as for cas
---@param value string any bytes
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Register:cas_start(version, value)
  local known = args.fence("version", version)
  args.bytes("value", value)
  return start_with_version(self,
    core.ilk_register_cas_start(self._handle, known, value))
end

--- Compute a value from the one that is there, and write it. If another change came
--- in between, it begins again with the new value: fn may run more than once.
---@param fn fun(value: string?): string gets nil when there is no value
---@param timeout_ms number? milliseconds in which attempts begin; nil: no limit
---@return integer? version
---@return string? value that was written; or msg
---@return integer? code ILK_ETIMEOUT: the last attempt in time was refused
function Register:change(fn, timeout_ms)
  args.callable("fn", fn)
  local ms = args.timeout("timeout_ms", timeout_ms)
  local ends = ms >= 0 and core.ilk_lua_clock_ms() + ms or math.huge
  local ok, msg, code = core.ilk_register_get(self._handle)
  while ok or code == core.ILK_ESTALE do
    local value = fn(self.value)
    if type(value) ~= "string" then
      error(("fn must return a string, got %s"):format(type(value)), 2)
    end
    ok, msg, code = core.ilk_register_cas(self._handle, self.version, value)
    if ok then
      return self.version, self.value
    elseif code == core.ILK_ESTALE and core.ilk_lua_clock_ms() >= ends then
      return nil, "others changed the register before each attempt", core.ILK_ETIMEOUT
    end
  end
  return nil, msg, code
end

--- Wait until the register has another version; returns at once when it has.
---
--- Blocks until it has, the time is over, or Ctrl-C raises an error.
---@param version integer the one that is known; 0 waits until one is on record
---@param timeout_ms number? milliseconds; 0 checks once, nil waits for ever
---@return integer? version
---@return string? value nil when there is none; or msg
---@return integer? code ILK_EBUSY for 0, ILK_ETIMEOUT otherwise, and others
function Register:wait(version, timeout_ms)
  local known = args.fence("version", version)
  local ms = args.timeout("timeout_ms", timeout_ms)
  local function call(handle, left)
    return core.ilk_register_wait(handle, known, left)
  end
  return with_state(self, wait.by(self._handle, ms, call, core.ilk_register_cancel))
end

--- Start wait().
---@param version integer as for wait
---@param timeout_ms number? as for wait
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Register:wait_start(version, timeout_ms)
  local known = args.fence("version", version)
  local ms = args.timeout("timeout_ms", timeout_ms)
  return start_with_state(self,
    core.ilk_register_wait_start(self._handle, known, ms))
end

--- Delete the value. The register keeps a version, which is new.
---@param version integer? delete only this version; nil deletes whatever is there
---@return true? ok
---@return string? msg
---@return integer? code ILK_ESTALE: no value, or another version; nothing was changed
function Register:delete(version)
  return core.ilk_register_delete(self._handle, version_or_any(version))
end

--- Start delete().
---@param version integer? as for delete
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Register:delete_start(version)
  return op.wrap(self, op.ok,
    core.ilk_register_delete_start(self._handle, version_or_any(version)))
end

--- Cancel a wait that a signal has interrupted.
---@return true? ok
---@return string? msg
---@return integer? code
function Register:cancel()
  return core.ilk_register_cancel(self._handle)
end

local register = {}

--- Make a register of this name; nothing is sent. client:register(name)
---@param client interlock.Client
---@param name string 1 to 512 bytes, any bytes but a leading "ilk:"
---@return interlock.Register? register
---@return string? msg
---@return integer? code
function register.open(client, name)
  args.bytes("name", name)
  local made, msg, code = object.wrap(meta, client, name,
    core.ilk_register_open(client._handle, name))
  return made, msg, code
end

return register
