-- SPDX-License-Identifier: MIT
-- What a lock and a lock over many names have in common: taking, holding and
-- giving up, whatever is held.
--
-- An object is a table with the generated module's handle in `_handle` and
-- its functions in `_functions`. The handle is freed when it is collected,
-- which sends nothing: what is held then ends with its lease.

local core = require "interlock.core"
local args = require "interlock.args"
local op = require "interlock.op"
local wait = require "interlock.wait"

---@class interlock.Hold
---@field name string|string[] what is locked
---@field held boolean whether it is ours for sure
---@field fence integer of this hold or the last one; 0 before the first
---@field token string of this hold or the last one; "" before the first
---@field id integer the number that notifications carry
local Hold = {}

local hold = {}

local getters = {}

function getters.held(self)
  return self._functions.held(self._handle) == 1
end

function getters.fence(self)
  return self._functions.fence(self._handle)
end

function getters.token(self)
  return self._functions.token(self._handle)
end

function getters.id(self)
  return self._functions.id(self._handle)
end

-- Wait by `ask`, a function of the handle and the milliseconds left. An error
-- that leaves the wait keeps nothing that it may have got.
local function acquire(self, timeout_ms, ask)
  local functions = self._functions
  local held_before = self.held
  local function abandon()
    if not held_before and self.held then
      functions.release(self._handle)
    end
  end
  local ok, msg, code =
    wait.by(self._handle, timeout_ms, ask, functions.cancel, abandon)
  return ok, msg, code
end

-- Give the hold up after the body of with(); its error wins.
local function leave(self, ran, ...)
  local ok, msg, code = self._functions.release(self._handle)
  if not ran then
    error((...), 0)
  end
  if not ok then
    return nil, msg, code
  end
  return true, ...
end

--- Take it, after those who asked before.
---
--- Blocks until it is ours, the time is over, or Ctrl-C raises an error.
---@param timeout_ms number? milliseconds; 0 tries once, nil waits for ever
---@return true? ok
---@return string? msg
---@return integer? code ILK_EBUSY for 0, ILK_ETIMEOUT otherwise, and others
function Hold:acquire(timeout_ms)
  local ms = args.timeout("timeout_ms", timeout_ms)
  local ok, msg, code = acquire(self, ms, self._functions.acquire)
  return ok, msg, code
end

--- Start acquire().
---@param timeout_ms number? as for acquire
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Hold:acquire_start(timeout_ms)
  local ms = args.timeout("timeout_ms", timeout_ms)
  return hold.start(self, "acquire", ms)
end

--- Give it up; the first who waits holds it next.
---@return true? ok
---@return string? msg
---@return integer? code ILK_ELOST: it was no longer ours
function Hold:release()
  return self._functions.release(self._handle)
end

--- Start release(); it counts as given up at once.
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Hold:release_start()
  return hold.start(self, "release")
end

--- Set the lease left, counted from now.
---@param ttl_ms number? milliseconds; nil for the ttl_ms it was made with
---@return true? ok
---@return string? msg
---@return integer? code
function Hold:extend(ttl_ms)
  local ms = args.duration("ttl_ms", ttl_ms)
  return self._functions.extend(self._handle, ms)
end

--- Start extend().
---@param ttl_ms number? as for extend
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Hold:extend_start(ttl_ms)
  local ms = args.duration("ttl_ms", ttl_ms)
  return hold.start(self, "extend", ms)
end

--- Find out whether it is still ours; asks the server only when in doubt.
---@return true? ok
---@return string? msg
---@return integer? code ILK_ELOST, ILK_ENOTOWNER, ILK_EUNKNOWN
function Hold:check()
  return self._functions.check(self._handle)
end

--- Start check().
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Hold:check_start()
  return hold.start(self, "check")
end

--- End a wait that a signal has interrupted, and give up the place in the wait
--- queue.
---@return true? ok
---@return string? msg
---@return integer? code
function Hold:cancel()
  return self._functions.cancel(self._handle)
end

--- Milliseconds that it is ours for sure, by the local clock.
---@return integer # 0 when not held or not sure any more
function Hold:remaining_ms()
  return self._functions.remaining_ms(self._handle)
end

--- Hold it while a function runs, and release it whatever happens.
---
--- An error of the function is raised again. When the lock was lost while it
--- ran, the answer is nil, message, ILK_ELOST.
---@param fn fun(hold: interlock.Hold): ...
---@param timeout_ms number? as for acquire
---@return true? ok
---@return any ... # what fn returned, or message and code
function Hold:with(fn, timeout_ms)
  args.callable("fn", fn)
  local ms = args.timeout("timeout_ms", timeout_ms)
  local ok, msg, code = acquire(self, ms, self._functions.acquire)
  if not ok then
    return nil, msg, code
  end
  return leave(self, pcall(fn, self))
end

-- `local lock <close> = ...`: a loss is an error, unless one is on its way.
local function close(self, problem)
  local ok, msg, code = self._functions.release(self._handle)
  if not ok and code ~= core.ILK_ENOTOWNER and problem == nil then
    error(msg, 0)
  end
end

hold.acquire = acquire

--- Start a verb that answers true.
---@param self interlock.Hold
---@param verb string as in _functions, without _start
---@param ... any what follows the handle
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function hold.start(self, verb, ...)
  local start = self._functions[verb .. "_start"]
  return op.wrap(self, op.ok, start(self._handle, ...))
end

--- A metatable for objects of one kind.
---@param kind string what tostring() says
---@param own table the methods that the kind has beside the common ones
---@param verbs table<string, function> the generated functions of its handle
---@param fields table<string, function>? and the fields, each by its getter
---@return table
function hold.metatable(kind, own, functions, fields)
  local methods = setmetatable(own, { __index = Hold })
  return {
    functions = functions,
    __index = function(self, key)
      local getter = getters[key] or fields and fields[key]
      if getter then
        return getter(self)
      end
      return methods[key]
    end,
    __newindex = function(_, key)
      error(("a %s has no field %q to set"):format(kind, tostring(key)), 2)
    end,
    __tostring = function(self)
      local state = self.held and "held, %d ms left" or "not held"
      local shown = state:format(self:remaining_ms())
      return ("%s %s (%s)"):format(kind, self._title, shown)
    end,
    __close = close,
  }
end

--- What an _open of the generated module answered, as an object. A wrong
--- argument is raised in the line that called the public function.
---@param meta table from hold.metatable
---@param client interlock.Client
---@param made table its `name` and what else it shows
function hold.wrap(meta, client, made, handle, msg, code)
  if code == core.ILK_EINVAL then
    error(msg, 3)
  elseif not handle then
    return nil, msg, code
  end
  made._title = made._title or ("%q"):format(made.name)
  made._handle = handle
  made._functions = meta.functions
  made._ops = client._ops
  setmetatable(made, meta)
  client._holds[made.id] = made
  return made
end

--- The generated functions of one kind of handle.
---@param prefix string such as "ilk_lock_"
---@return table<string, function>
function hold.functions(prefix)
  return setmetatable({}, {
    __index = function(functions, name)
      functions[name] = core[prefix .. name]
      return functions[name]
    end,
  })
end

return hold
