-- SPDX-License-Identifier: MIT
-- The barrier: a point that all parties must reach before any of them continues.

local core = require "interlock.core"
local args = require "interlock.args"
local op = require "interlock.op"
local options = require "interlock.options"
local object = require "interlock.object"
local wait = require "interlock.wait"

---@class interlock.Barrier
---@field name string
local Barrier = {}

local rules = { keep_ms = { "duration" } }
local meta = object.metatable("barrier", Barrier, {})

--- Arrive, and wait until the round is full. When the time runs out, or Ctrl-C
--- raises an error, the round breaks for all its parties.
---@param timeout_ms number? milliseconds; 0 arrives only as the last party, nil
---  waits for ever
---@return integer? index of this arrival, 0 to parties - 1
---@return string? msg
---@return integer? code ILK_EBROKEN, ILK_EBUSY for 0, ILK_ETIMEOUT otherwise,
---  and others
function Barrier:wait(timeout_ms)
  local ms = args.timeout("timeout_ms", timeout_ms)
  return wait.by(self._handle, ms, core.ilk_barrier_wait, core.ilk_barrier_cancel)
end

--- Start wait(). Its cancel() breaks the round.
---@param timeout_ms number? as for wait
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Barrier:wait_start(timeout_ms)
  local ms = args.timeout("timeout_ms", timeout_ms)
  return op.wrap(self, op.number, core.ilk_barrier_wait_start(self._handle, ms))
end

--- Return how many parties have arrived at the open round.
---@return integer? waiting
---@return string? msg
---@return integer? code
function Barrier:waiting()
  return core.ilk_barrier_waiting(self._handle)
end

--- Start waiting().
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Barrier:waiting_start()
  return op.wrap(self, op.number, core.ilk_barrier_waiting_start(self._handle))
end

--- Break the open round; start again with this object's number of parties.
---@return true? ok
---@return string? msg
---@return integer? code
function Barrier:reset()
  return core.ilk_barrier_reset(self._handle)
end

--- Start reset().
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Barrier:reset_start()
  return op.wrap(self, op.ok, core.ilk_barrier_reset_start(self._handle))
end

--- Cancel a wait that a signal has interrupted; the round breaks.
---@return true? ok
---@return string? msg
---@return integer? code
function Barrier:cancel()
  return core.ilk_barrier_cancel(self._handle)
end

local barrier = {}

--- Make a barrier of this name; nothing is sent.
--- client:barrier(name, parties, opts)
---@param client interlock.Client
---@param name string 1 to 512 bytes, any bytes but a leading "ilk:"
---@param parties integer 1 to 1024
---@param opts interlock.KeepOptions? keep_ms: default one hour
---@return interlock.Barrier? barrier
---@return string? msg
---@return integer? code
function barrier.open(client, name, parties, opts)
  args.bytes("name", name)
  args.count("parties", parties)
  local record = options.fill(core.ilk_barrier_opts_init(), rules, opts)
  local made, msg, code = object.wrap(meta, client, name,
    core.ilk_barrier_open(client._handle, name, parties, record))
  return made, msg, code
end

--- Inspect one barrier, whatever its number of parties.
--- client:inspect_barrier(name)
---@param client interlock.Client
---@param name string
---@return { parties: integer, waiting: integer }? info
---@return string? msg
---@return integer? code
function barrier.inspect(client, name)
  args.bytes("name", name)
  local parties, waiting, code = core.ilk_barrier_inspect(client._handle, name)
  if not parties then
    return nil, waiting, code
  end
  return { parties = parties, waiting = waiting }
end

--- Start inspect(). client:inspect_barrier_start(name)
---@param client interlock.Client
---@param name string
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function barrier.inspect_start(client, name)
  args.bytes("name", name)
  return op.wrap(client, function(handle)
    return {
      parties = core.ilk_op_barrier_parties(handle),
      waiting = core.ilk_op_barrier_waiting(handle),
    }
  end, core.ilk_barrier_inspect_start(client._handle, name))
end

return barrier
