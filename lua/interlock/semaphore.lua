-- SPDX-License-Identifier: MIT
-- The semaphore: a limited number of permits, each held under a lease.

local core = require "interlock.core"
local args = require "interlock.args"
local hold = require "interlock.hold"
local inspect = require "interlock.inspect"
local transferable_hold = require "interlock.transferable_hold"
local op = require "interlock.op"
local options = require "interlock.options"

---@class interlock.Semaphore: interlock.TransferableHold
---@field limit integer the one that it was made with
local Semaphore = {}

---@class interlock.SemaphoreOptions
---@field permits integer? what this handle acquires, all or nothing; default 1
---@field ttl_ms number? the lease; default 30000
---@field renew boolean? renew the lease while it is held; default true
---@field max_hold_ms number? end the hold after this unless it is extended; default no limit
---@field fair boolean? false takes free permits ahead of the wait queue

local rules = {
  permits = { "count" },
  ttl_ms = { "duration" },
  max_hold_ms = { "duration" },
  renew = { "flag", core.ILK_SEMAPHORE_NO_RENEW, when = false },
  fair = { "flag", core.ILK_SEMAPHORE_BARGE, when = false },
}

local functions = hold.functions("ilk_semaphore_")
local meta = hold.metatable("semaphore", transferable_hold.add(Semaphore), functions)

--- Change the limit while the semaphore is in use. A higher limit admits waiters,
--- a lower one takes no permit away. Handles that were opened with the former
--- limit keep working.
---@param limit integer this handle's permits to 1024
---@return true? ok
---@return string? msg
---@return integer? code
function Semaphore:set_limit(limit)
  args.count("limit", limit, core.ILK_SEMAPHORE_MAX)
  local ok, msg, code = functions.set_limit(self._handle, limit)
  if code == core.ILK_EINVAL then
    error(msg, 2)
  elseif ok then
    return ok
  end
  return nil, msg, code
end

--- Start set_limit().
---@param limit integer as for set_limit
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Semaphore:set_limit_start(limit)
  args.count("limit", limit, core.ILK_SEMAPHORE_MAX)
  local started, msg, code = hold.start(self, "set_limit", limit)
  if code == core.ILK_EINVAL then
    error(msg, 2)
  end
  return started, msg, code
end

local semaphore = {}

--- Make a handle for some permits of this semaphore; nothing is sent.
--- client:semaphore(name, limit, opts)
---@param client interlock.Client
---@param name string 1 to 512 bytes, any bytes but a leading "ilk:"
---@param limit integer how many permits there are, 1 to 1024
---@param opts interlock.SemaphoreOptions?
---@return interlock.Semaphore? semaphore
---@return string? msg
---@return integer? code
function semaphore.open(client, name, limit, opts)
  args.bytes("name", name)
  args.count("limit", limit, core.ILK_SEMAPHORE_MAX)
  local record = options.fill(core.ilk_semaphore_opts_init(), rules, opts)
  local shown = { name = name, limit = limit }
  local made, msg, code = hold.wrap(meta, client, shown, opts,
    core.ilk_semaphore_open(client._handle, name, limit, record))
  return made, msg, code
end

---@class interlock.SemaphoreInfo
---@field limit integer the limit in force; 0 when none is on record
---@field used integer permits that are held
---@field fence integer the last fence of this name; 0 for none
---@field holding integer the number of all holders
---@field holders interlock.Holder[] the first 100, in the order of fences
---@field waiting integer the number of all waiters
---@field waiters interlock.Waiter[] the first 100, in the order of the wait queue

local function to_info(info)
  return {
    limit = core.ilk_info_limit(info),
    used = core.ilk_info_used(info),
    fence = core.ilk_info_fence(info),
    holding = core.ilk_info_holders(info),
    holders = inspect.holders(info),
    waiting = core.ilk_info_waiters(info),
    waiters = inspect.waiters(info),
  }
end

--- Inspect one semaphore. client:inspect_semaphore(name)
---@param client interlock.Client
---@param name string
---@return interlock.SemaphoreInfo? info
---@return string? msg
---@return integer? code
function semaphore.inspect(client, name)
  args.bytes("name", name)
  local info, msg, code = core.ilk_semaphore_inspect(client._handle, name)
  if not info then
    return nil, msg, code
  end
  return to_info(info)
end

--- Start inspect(). client:inspect_semaphore_start(name)
---@param client interlock.Client
---@param name string
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function semaphore.inspect_start(client, name)
  args.bytes("name", name)
  return op.wrap(client, function(handle)
    return to_info(core.ilk_op_info(handle))
  end, core.ilk_semaphore_inspect_start(client._handle, name))
end

return semaphore
