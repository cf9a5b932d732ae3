-- SPDX-License-Identifier: MIT
-- An operation that was started instead of waited for.
--
-- A method whose name ends in _start returns an operation at once. A notification
-- of the client reports the end (notification.lua), and then result() returns what
-- the method without _start would have returned. Operations advance while the
-- program fetches notifications. A started operation runs to its end, whether the
-- program keeps it or not.

local core = require "interlock.core"
local constants = require "interlock.constants"

---@class interlock.Op
---@field id integer the number that its notification carries
---@field done boolean whether it has ended
---@field status string the name of its status; "ILK_EAGAIN" until it has ended
local Op = {}

local function handle_of(self)
  local handle = rawget(self, "_handle")
  if not handle then
    error("the operation is closed", 3)
  end
  return handle
end

local getters = {}

function getters.status(self)
  local ok, _, code = core.ilk_op_status(handle_of(self))
  return constants.status[ok and core.ILK_OK or code]
end

function getters.done(self)
  local _, _, code = core.ilk_op_status(handle_of(self))
  return code ~= core.ILK_EAGAIN
end

local meta = {}

function meta.__index(self, key)
  local getter = getters[key]
  if getter then
    return getter(self)
  end
  return Op[key]
end

function meta.__tostring(self)
  local state = rawget(self, "_handle") and self.status or "closed"
  return ("operation %d (%s)"):format(self.id, state)
end

--- Return what the method without _start would have returned.
---@return any ... # or nil, message, code; ILK_EAGAIN until it has ended
function Op:result()
  local handle = handle_of(self)
  local ok, msg, code = core.ilk_op_status(handle)
  if not ok then
    return nil, msg, code
  end
  return self._read(handle, self)
end

--- Cancel a wait: the operation leaves the wait queue and ends with
--- ILK_ECANCELLED, which a notification reports; if it was granted just before, it
--- ends with ILK_OK. An operation that only waits for a reply runs to its end, but
--- ends at once while the server is away.
---@return true? ok also when it has ended
---@return string? msg
---@return integer? code
function Op:cancel()
  return core.ilk_op_cancel(handle_of(self))
end

--- End the operation if it still runs, and forget it: no notification reports it.
function Op:close()
  local handle = rawget(self, "_handle")
  self._handle = nil
  self._ops[self.id] = nil
  if handle and not rawget(self, "_lends") then
    core.ilk_lua_op_close(handle)
  end
end

--- Mark the operation as the owner of its result: the collector frees both when
--- neither is used any more.
---@param self interlock.Op
---@return userdata handle for the object that borrows, which keeps it
function Op:_lend()
  self._lends = true
  return self._handle
end

meta.__close = Op.close

local op = {}

--- Read the result of an operation that returns true.
function op.ok()
  return true
end

--- Read the result of an operation that returns a number.
function op.number(handle)
  return core.ilk_op_number(handle)
end

--- Make an object of what a _start of the generated module returned.
---@param subject table what it works on, which has to live as long; has _ops
---@param read fun(handle: userdata, op: interlock.Op): ... makes the result
---@param handle userdata?
---@param msg string?
---@param code integer?
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function op.wrap(subject, read, handle, msg, code)
  if not handle then
    return nil, msg, code
  end
  local made = setmetatable({
    id = core.ilk_op_id(handle),
    _handle = handle,
    _ops = subject._ops,
    _read = read,
    _subject = subject,
  }, meta)
  subject._ops[made.id] = made
  return made
end

return op
