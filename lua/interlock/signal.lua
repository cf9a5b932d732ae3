-- SPDX-License-Identifier: MIT
-- Signals: wait for one, or send one to a single waiter or to all.

local core = require "interlock.core"
local args = require "interlock.args"
local op = require "interlock.op"
local options = require "interlock.options"
local object = require "interlock.object"
local wait = require "interlock.wait"

---@class interlock.Signal
---@field name string the name, or the pattern
local Signal = {}

---@class interlock.SignalOptions
---@field pattern boolean? the name is a glob, such as "jobs.*"

local rules = {
  pattern = { "flag", core.ILK_SIGNAL_PATTERN, when = true },
}

local meta = object.metatable("signal", Signal, {})

local function wait_for(first, call, timeout_ms)
  return wait.by(first._handle, timeout_ms, function(_, left)
    return call(left)
  end, core.ilk_signal_cancel)
end

local function data_and_name(arrival)
  return core.ilk_arrival_data(arrival, 0), core.ilk_arrival_name(arrival, 0)
end

--- Wait for a signal.
---
--- Blocks until one comes, the time is over, or Ctrl-C raises an error.
---@param timeout_ms number? milliseconds; 0 returns a signal that came since
---  listen(), nil waits for ever
---@return string? data of the signal
---@return string? name that it was sent to; or the error's text
---@return integer? code ILK_ETIMEOUT: none arrived; and others
function Signal:wait(timeout_ms)
  local ms = args.timeout("timeout_ms", timeout_ms)
  local arrival, msg, code = wait_for(self, function(left)
    return core.ilk_signal_wait(self._handle, left)
  end, ms)
  if not arrival then
    return nil, msg, code
  end
  return data_and_name(arrival)
end

--- Start wait(). A signal that arrives during a cancel is the result.
---@param timeout_ms number? as for wait
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Signal:wait_start(timeout_ms)
  local ms = args.timeout("timeout_ms", timeout_ms)
  return op.wrap(self, function(handle)
    return data_and_name(core.ilk_op_arrival(handle))
  end, core.ilk_signal_wait_start(self._handle, ms))
end

--- Begin to wait: a signal from now on is kept for the next wait().
---@return true? ok
---@return string? msg
---@return integer? code
function Signal:listen()
  return core.ilk_signal_listen(self._handle)
end

--- Start listen().
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Signal:listen_start()
  return op.wrap(self, op.ok, core.ilk_signal_listen_start(self._handle))
end

--- Signal the first waiter in the wait queue.
---@param data string? any bytes, at most 1 MiB
---@return integer? reached 1, or 0 when nobody waits
---@return string? msg
---@return integer? code
function Signal:notify_one(data)
  args.optional_bytes("data", data)
  return core.ilk_signal_notify_one(self._handle, data)
end

--- Start notify_one().
---@param data string? any bytes, at most 1 MiB
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Signal:notify_one_start(data)
  args.optional_bytes("data", data)
  return op.wrap(self, op.number,
    core.ilk_signal_notify_one_start(self._handle, data))
end

--- Signal all waiters.
---@param data string? any bytes, at most 1 MiB
---@return integer? reached how many waits, and clients that listen to a pattern
---@return string? msg
---@return integer? code
function Signal:notify_all(data)
  args.optional_bytes("data", data)
  return core.ilk_signal_notify_all(self._handle, data)
end

--- Start notify_all().
---@param data string? any bytes, at most 1 MiB
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Signal:notify_all_start(data)
  args.optional_bytes("data", data)
  return op.wrap(self, op.number,
    core.ilk_signal_notify_all_start(self._handle, data))
end

--- Cancel what listen() has begun, or a wait that a signal has interrupted.
---@return true? ok
---@return string? msg
---@return integer? code
function Signal:cancel()
  return core.ilk_signal_cancel(self._handle)
end

local signal = {}

--- Make a handle for the signals of this name; nothing is sent.
--- client:signal(name, opts)
---@param client interlock.Client
---@param name string 1 to 512 bytes, any bytes but a leading "ilk:"
---@param opts interlock.SignalOptions?
---@return interlock.Signal? signal
---@return string? msg
---@return integer? code
function signal.open(client, name, opts)
  args.bytes("name", name)
  local record = options.fill(core.ilk_signal_opts_init(), rules, opts)
  local made, msg, code = object.wrap(meta, client, name,
    core.ilk_signal_open(client._handle, name, record))
  return made, msg, code
end

local function handles_of(signals)
  if type(signals) ~= "table" then
    error(("signals must be a table, got %s"):format(type(signals)), 3)
  end
  local handles = {}
  for i, one in ipairs(signals) do
    if getmetatable(one) ~= meta then
      error(("signals[%d] is no signal"):format(i), 3)
    end
    handles[i] = one._handle
  end
  if #handles == 0 then
    error("signals must hold one signal at least", 3)
  end
  return handles
end

local function any_of(signals, arrival)
  local which = core.ilk_arrival_which(arrival, 0) + 1
  return signals[which], core.ilk_arrival_data(arrival, 0)
end

local function all_of(signals, arrival)
  local data = {}
  for i = 0, core.ilk_arrival_count(arrival) - 1 do
    local which = core.ilk_arrival_which(arrival, i) + 1
    data[signals[which]] = core.ilk_arrival_data(arrival, i)
  end
  return data
end

-- Wait with the core's function; result(signals, arrival) is what it returns.
local function wait_for_several(wait_with, signals, handles, ms, result)
  local arrival, msg, code = wait_for(signals[1], function(left)
    return wait_with(handles, left)
  end, ms)
  if not arrival then
    return nil, msg, code
  end
  return result(signals, arrival)
end

-- The same, started.
local function start_for_several(start, signals, handles, ms, result)
  local kept = args.copy(signals) -- the operation's signals have to live as long
  kept._ops = signals[1]._ops
  return op.wrap(kept, function(handle)
    return result(kept, core.ilk_op_arrival(handle))
  end, start(handles, ms))
end

--- Wait for a signal of any one of several. interlock.wait_any(signals, ms)
---@param signals interlock.Signal[] of one client, of different names
---@param timeout_ms number? milliseconds; nil waits for ever
---@return interlock.Signal? signal the one that arrived
---@return string? data of the signal; or the error's text
---@return integer? code
function signal.wait_any(signals, timeout_ms)
  local handles = handles_of(signals)
  local ms = args.timeout("timeout_ms", timeout_ms)
  return wait_for_several(core.ilk_signal_wait_any, signals, handles, ms, any_of)
end

--- Start wait_any(). interlock.wait_any_start(signals, ms)
---@param signals interlock.Signal[] as for wait_any
---@param timeout_ms number? milliseconds; nil waits for ever
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function signal.wait_any_start(signals, timeout_ms)
  local handles = handles_of(signals)
  local ms = args.timeout("timeout_ms", timeout_ms)
  return start_for_several(core.ilk_signal_wait_any_start, signals, handles, ms, any_of)
end

--- Wait until each of several signals has arrived. interlock.wait_all(signals, ms)
---@param signals interlock.Signal[] of one client, of different names
---@param timeout_ms number? milliseconds; nil waits for ever
---@return table<interlock.Signal, string>? data of each signal
---@return string? msg
---@return integer? code
function signal.wait_all(signals, timeout_ms)
  local handles = handles_of(signals)
  local ms = args.timeout("timeout_ms", timeout_ms)
  return wait_for_several(core.ilk_signal_wait_all, signals, handles, ms, all_of)
end

--- Start wait_all(). interlock.wait_all_start(signals, ms)
---@param signals interlock.Signal[] as for wait_all
---@param timeout_ms number? milliseconds; nil waits for ever
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function signal.wait_all_start(signals, timeout_ms)
  local handles = handles_of(signals)
  local ms = args.timeout("timeout_ms", timeout_ms)
  return start_for_several(core.ilk_signal_wait_all_start, signals, handles, ms, all_of)
end

--- Return how many waits a signal of this name would reach, without patterns.
--- client:inspect_signal(name)
---@param client interlock.Client
---@param name string
---@return integer? waiting
---@return string? msg
---@return integer? code
function signal.inspect(client, name)
  args.bytes("name", name)
  return core.ilk_signal_inspect(client._handle, name)
end

--- Start inspect(). client:inspect_signal_start(name)
---@param client interlock.Client
---@param name string
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function signal.inspect_start(client, name)
  args.bytes("name", name)
  return op.wrap(client, op.number,
    core.ilk_signal_inspect_start(client._handle, name))
end

return signal
