-- SPDX-License-Identifier: MIT
-- The latch: a number that is counted down once, and waits until it is 0.

local core = require "interlock.core"
local args = require "interlock.args"
local op = require "interlock.op"
local options = require "interlock.options"
local object = require "interlock.object"
local wait = require "interlock.wait"

---@class interlock.Latch
---@field name string
local Latch = {}

---@class interlock.KeepOptions
---@field keep_ms number? deleted when unused so long

local rules = { keep_ms = { "duration" } }
local meta = object.metatable("latch", Latch, {})

--- Count down, but not below 0; a count of 0 wakes all waiters.
---@param n integer? by how many; default 1
---@return integer? left
---@return string? msg
---@return integer? code ILK_EDIFFERS: another count is on record
function Latch:count_down(n)
  local by = args.count("n", n or 1)
  return core.ilk_latch_count_down(self._handle, by)
end

--- Start count_down().
---@param n integer? by how many; default 1
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Latch:count_down_start(n)
  local by = args.count("n", n or 1)
  return op.wrap(self, op.number,
    core.ilk_latch_count_down_start(self._handle, by))
end

--- Wait until the count is 0; returns at once when it is.
---
--- Blocks until it is 0, the time is over, or Ctrl-C raises an error.
---@param timeout_ms number? milliseconds; 0 checks once, nil waits for ever
---@return true? ok
---@return string? msg
---@return integer? code ILK_EBUSY for 0, ILK_ETIMEOUT otherwise, and others
function Latch:wait(timeout_ms)
  local ms = args.timeout("timeout_ms", timeout_ms)
  return wait.by(self._handle, ms, core.ilk_latch_wait, core.ilk_latch_cancel)
end

--- Start wait().
---@param timeout_ms number? as for wait
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Latch:wait_start(timeout_ms)
  local ms = args.timeout("timeout_ms", timeout_ms)
  return op.wrap(self, op.ok, core.ilk_latch_wait_start(self._handle, ms))
end

--- Return the count that is left.
---@return integer? left
---@return string? msg
---@return integer? code
function Latch:count()
  return core.ilk_latch_count(self._handle)
end

--- Start count().
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Latch:count_start()
  return op.wrap(self, op.number, core.ilk_latch_count_start(self._handle))
end

--- Start again with this object's count, whatever is on record.
---@return true? ok
---@return string? msg
---@return integer? code
function Latch:reset()
  return core.ilk_latch_reset(self._handle)
end

--- Start reset().
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Latch:reset_start()
  return op.wrap(self, op.ok, core.ilk_latch_reset_start(self._handle))
end

--- Cancel a wait that a signal has interrupted.
---@return true? ok
---@return string? msg
---@return integer? code
function Latch:cancel()
  return core.ilk_latch_cancel(self._handle)
end

local latch = {}

--- Make a latch of this name; nothing is sent.
--- client:latch(name, count, opts)
---@param client interlock.Client
---@param name string 1 to 512 bytes, any bytes but a leading "ilk:"
---@param count integer the count that it begins with
---@param opts interlock.KeepOptions? keep_ms: default one day
---@return interlock.Latch? latch
---@return string? msg
---@return integer? code
function latch.open(client, name, count, opts)
  args.bytes("name", name)
  args.count("count", count)
  local record = options.fill(core.ilk_latch_opts_init(), rules, opts)
  local made, msg, code = object.wrap(meta, client, name,
    core.ilk_latch_open(client._handle, name, count, record))
  return made, msg, code
end

--- Inspect one latch, whatever its count. client:inspect_latch(name)
---@param client interlock.Client
---@param name string
---@return { count: integer, left: integer }? info
---@return string? msg
---@return integer? code
function latch.inspect(client, name)
  args.bytes("name", name)
  local count, left, code = core.ilk_latch_inspect(client._handle, name)
  if not count then
    return nil, left, code
  end
  return { count = count, left = left }
end

--- Start inspect(). client:inspect_latch_start(name)
---@param client interlock.Client
---@param name string
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function latch.inspect_start(client, name)
  args.bytes("name", name)
  return op.wrap(client, function(handle)
    return {
      count = core.ilk_op_latch_count(handle),
      left = core.ilk_op_latch_left(handle),
    }
  end, core.ilk_latch_inspect_start(client._handle, name))
end

return latch
