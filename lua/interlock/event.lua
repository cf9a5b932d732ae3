-- SPDX-License-Identifier: MIT
-- The event: it stays set, so that a late waiter does not wait for ever.

local core = require "interlock.core"
local args = require "interlock.args"
local op = require "interlock.op"
local options = require "interlock.options"
local object = require "interlock.object"
local wait = require "interlock.wait"

---@class interlock.Event
---@field name string
---@field is_set boolean whether it was set when this object last read it
---@field generation integer that this object last read; 0 for none
---@field data string that this object last read; "" when it was clear
local Event = {}

---@class interlock.EventOptions
---@field ttl_ms number? until a set event clears itself; default never

local rules = { ttl_ms = { "duration" } }

local meta = object.metatable("event", Event, {
  is_set = function(handle)
    return core.ilk_event_is_set(handle) == 1
  end,
  generation = core.ilk_event_generation,
  data = core.ilk_event_data,
})

-- The generation after a call, or the call's error.
local function with_generation(self, ok, msg, code)
  if not ok then
    return nil, msg, code
  end
  return self.generation
end

-- The same for an operation.
local function start_with_generation(self, ...)
  return op.wrap(self, function()
    return self.generation
  end, ...)
end

--- Set the event, with up to 1 MiB of data, and wake all waiters.
---@param data string? any bytes
---@return integer? generation greater than the last
---@return string? msg
---@return integer? code ILK_EAUTH: set, but this user may not PUBLISH to waiters
function Event:set(data)
  args.optional_bytes("data", data)
  return with_generation(self, core.ilk_event_set(self._handle, data))
end

--- Start set().
---@param data string? any bytes
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Event:set_start(data)
  args.optional_bytes("data", data)
  return start_with_generation(self, core.ilk_event_set_start(self._handle, data))
end

--- Clear the event and remove its data; a clear event stays as it is.
---@return integer? generation
---@return string? msg
---@return integer? code
function Event:clear()
  return with_generation(self, core.ilk_event_clear(self._handle))
end

--- Start clear().
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Event:clear_start()
  return start_with_generation(self, core.ilk_event_clear_start(self._handle))
end

--- Read the state from the server into is_set, generation and data.
---@return integer? generation
---@return string? msg
---@return integer? code
function Event:read()
  return with_generation(self, core.ilk_event_read(self._handle))
end

--- Start read().
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Event:read_start()
  return start_with_generation(self, core.ilk_event_read_start(self._handle))
end

--- Wait until the event is set; returns at once when it is.
---
--- Blocks until it is set, the time is over, or Ctrl-C raises an error.
---@param timeout_ms number? milliseconds; 0 checks once, nil waits for ever
---@return integer? generation
---@return string? msg
---@return integer? code ILK_EBUSY for 0, ILK_ETIMEOUT otherwise, and others
function Event:wait(timeout_ms)
  local ms = args.timeout("timeout_ms", timeout_ms)
  return with_generation(self, wait.by(self._handle, ms, core.ilk_event_wait,
    core.ilk_event_cancel))
end

--- Start wait().
---@param timeout_ms number? as for wait
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Event:wait_start(timeout_ms)
  local ms = args.timeout("timeout_ms", timeout_ms)
  return start_with_generation(self, core.ilk_event_wait_start(self._handle, ms))
end

--- Wait until the generation is greater than `generation`; at once when it is.
---@param generation integer the one that is known
---@param timeout_ms number? milliseconds; 0 checks once, nil waits for ever
---@return integer? generation the present one
---@return string? msg
---@return integer? code ILK_EBUSY for 0, ILK_ETIMEOUT otherwise, and others
function Event:wait_change(generation, timeout_ms)
  local known = args.fence("generation", generation)
  local ms = args.timeout("timeout_ms", timeout_ms)
  local function call(handle, left)
    return core.ilk_event_wait_change(handle, known, left)
  end
  return with_generation(self, wait.by(self._handle, ms, call, core.ilk_event_cancel))
end

--- Start wait_change().
---@param generation integer the one that is known
---@param timeout_ms number? as for wait_change
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Event:wait_change_start(generation, timeout_ms)
  local known = args.fence("generation", generation)
  local ms = args.timeout("timeout_ms", timeout_ms)
  return start_with_generation(self,
    core.ilk_event_wait_change_start(self._handle, known, ms))
end

--- Cancel a wait that a signal has interrupted.
---@return true? ok
---@return string? msg
---@return integer? code
function Event:cancel()
  return core.ilk_event_cancel(self._handle)
end

local event = {}

--- Make an event of this name; nothing is sent. client:event(name, opts)
---@param client interlock.Client
---@param name string 1 to 512 bytes, any bytes but a leading "ilk:"
---@param opts interlock.EventOptions?
---@return interlock.Event? event
---@return string? msg
---@return integer? code
function event.open(client, name, opts)
  args.bytes("name", name)
  local record = options.fill(core.ilk_event_opts_init(), rules, opts)
  local made, msg, code = object.wrap(meta, client, name,
    core.ilk_event_open(client._handle, name, record))
  return made, msg, code
end

return event
