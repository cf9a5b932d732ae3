-- SPDX-License-Identifier: MIT
-- The common part of the handles of locks, semaphores and elections: acquire,
-- hold under a lease, release.
--
-- An object is a table with the generated module's handle in `_handle` and
-- its functions in `_functions`. When the object is collected while it holds, the
-- client keeps the handle and renews the hold: see kept_holds.lua.

local core = require "interlock.core"
local args = require "interlock.args"
local kept_holds = require "interlock.kept_holds"
local op = require "interlock.op"
local wait = require "interlock.wait"

---@class interlock.Hold
---@field name string|string[] the name or the names
---@field held boolean whether this handle holds for sure
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

-- Wait by `call`, a function of the handle and the milliseconds left. When an error
-- leaves the wait, a hold that was granted meanwhile is released.
local function acquire(self, timeout_ms, call)
  local why, refused, token = kept_holds.refuse(self)
  if why then
    return nil, why, refused, token
  end
  local functions = self._functions
  local held_before = self.held
  local function abandon()
    if not held_before and self.held then
      functions.release(self._handle)
    end
  end
  return wait.by(self._handle, timeout_ms, call, functions.cancel, abandon)
end

-- Release after the body of with(); an error of the body is raised again.
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

--- Acquire, waiting behind all earlier waiters.
---
--- Blocks until it is acquired, the time is over, or Ctrl-C raises an error.
---@param timeout_ms number? milliseconds; 0 tries once, nil waits for ever
---@return true? ok
---@return string? msg
---@return integer? code ILK_EBUSY for 0, ILK_ETIMEOUT otherwise, and others
---@return string? token with ILK_EHELD: of the hold of a collected object
function Hold:acquire(timeout_ms)
  local ms = args.timeout("timeout_ms", timeout_ms)
  return acquire(self, ms, self._functions.acquire)
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

--- Release; the first waiter in the wait queue holds next.
---@return true? ok
---@return string? msg
---@return integer? code ILK_ELOST: the hold had been lost
function Hold:release()
  return self._functions.release(self._handle)
end

--- Start release(); the handle counts as released at once.
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Hold:release_start()
  return hold.start(self, "release")
end

--- Set the remaining lease, counted from now.
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

--- Verify that this handle still holds; asks the server only when in doubt.
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

--- Cancel a wait that a signal has interrupted, and leave the wait queue.
---@return true? ok
---@return string? msg
---@return integer? code
function Hold:cancel()
  return self._functions.cancel(self._handle)
end

--- Milliseconds for which this handle holds for sure, by the local clock.
---@return integer # 0 when not held or not sure any more
function Hold:remaining_ms()
  return self._functions.remaining_ms(self._handle)
end

--- Hold while a function runs, and release afterwards in any case.
---
--- An error of the function is raised again. When the hold was lost while it
--- ran, the result is nil, message, ILK_ELOST.
---@param fn fun(hold: interlock.Hold): ...
---@param timeout_ms number? as for acquire
---@return true? ok
---@return any ... # what fn returned, or message and code
function Hold:with(fn, timeout_ms)
  args.callable("fn", fn)
  local ms = args.timeout("timeout_ms", timeout_ms)
  local ok, msg, code, token = acquire(self, ms, self._functions.acquire)
  if not ok then
    return nil, msg, code, token
  end
  return leave(self, pcall(fn, self))
end

-- `local lock <close> = ...`: a loss raises, unless another error is under way.
local function close(self, problem)
  local ok, msg, code = self._functions.release(self._handle)
  if not ok and code ~= core.ILK_ENOTOWNER and problem == nil then
    error(msg, 0)
  end
end

hold.acquire = acquire

--- Take back the hold of a collected object of the same client.
---@param self interlock.Hold
---@param token string
---@return true? ok
---@return string? msg
---@return integer? code ILK_ELOST: there is none with this token and these names
function hold.take_back(self, token)
  args.bytes("token", token)
  return kept_holds.take_back(self, self._holds, token)
end

--- Start a function that returns true.
---@param self interlock.Hold
---@param verb string a key of _functions, without _start
---@param ... any what follows the handle
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function hold.start(self, verb, ...)
  if verb == "acquire" then
    local why, refused, token = kept_holds.refuse(self)
    if why then
      return nil, why, refused, token
    end
  end
  local start = self._functions[verb .. "_start"]
  return op.wrap(self, op.ok, start(self._handle, ...))
end

--- A metatable for objects of one kind.
---@param kind string its name for tostring() and errors
---@param own table the methods of this kind, beside the common ones
---@param functions table<string, function> the generated functions of its handle
---@param fields table<string, function>? the getters of its own fields
---@param space string? the kind with which it shares its names
---@return table
function hold.metatable(kind, own, functions, fields, space)
  local methods = setmetatable(own, { __index = Hold })
  return {
    functions = functions,
    kind = kind,
    space = space or kind,
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

--- Make an object of what an _open of the generated module returned. A wrong
--- argument raises an error in the line that called the public function.
---@param meta table from hold.metatable
---@param client interlock.Client
---@param made table its `name` and its other fields
---@param opts table? the caller's options
function hold.wrap(meta, client, made, opts, handle, msg, code)
  if code == core.ILK_EINVAL then
    error(msg, 3)
  elseif not handle then
    return nil, msg, code
  end
  made._title = made._title or ("%q"):format(made.name)
  made._handle = handle
  made._functions = meta.functions
  made._client = client._handle
  made._ops = client._ops
  made._holds = client._holds
  kept_holds.watch(client, made, handle, meta.functions, not opts or opts.renew ~= false, {
    noun = meta.kind,
    space = meta.space,
    names = type(made.name) == "table" and made.name or { made.name },
    shared = made._shared,
    limit = made.limit,
    permits = made.limit and (opts and opts.permits or 1),
  })
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
