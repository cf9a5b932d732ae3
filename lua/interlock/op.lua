-- SPDX-License-Identifier: MIT
-- An operation that was started instead of waited for.
--
-- A method whose name ends in _start returns at once with an operation; when
-- that has ended, a notification of the client tells (notification.lua), and
-- result() answers what the method without _start would have answered.
-- Operations advance while a program fetches notifications. One that was
-- started goes on until it has ended, whether the program keeps it or not.

local core = require "interlock.core"
local constants = require "interlock.constants"

---@class interlock.Op
---@field id integer the number that its notification carries
---@field done boolean whether it has ended
---@field status string how, the name of a status; "ILK_EAGAIN" until then
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

--- What the method without _start would have answered.
---@return any ... # or nil, message, code; ILK_EAGAIN while it is under way
function Op:result()
  local handle = handle_of(self)
  local ok, msg, code = core.ilk_op_status(handle)
  if not ok then
    return nil, msg, code
  end
  return self._read(handle, self)
end

--- End a wait: its place in the wait queue is given up. It ends with
--- ILK_ECANCELLED, and a notification tells; should it have got what it waited
--- for just before, then with ILK_OK. What only waits for an answer runs to its
--- end.
---@return true? ok also when it has ended
---@return string? msg
---@return integer? code
function Op:cancel()
  return core.ilk_op_cancel(handle_of(self))
end

--- End it, if need be, and forget it: no notification will tell of it.
function Op:close()
  local handle = rawget(self, "_handle")
  self._handle = nil
  self._ops[self.id] = nil
  if handle and not rawget(self, "_lends") then
    core.ilk_lua_op_close(handle)
  end
end

--- What result() answers is a part of the operation, which the collector frees
--- when nobody has either any more.
---@param self interlock.Op
---@return userdata handle for the object that borrows, to be kept
function Op:_lend()
  self._lends = true
  return self._handle
end

meta.__close = Op.close

local op = {}

--- An operation answers true.
function op.ok()
  return true
end

--- An operation answers a number.
function op.number(handle)
  return core.ilk_op_number(handle)
end

--- What a _start of the generated module answered, as an object.
---@param subject table what it works on, which lives as long; has _ops
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
