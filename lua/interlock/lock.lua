-- SPDX-License-Identifier: MIT
-- A lock that one owner at a time holds, under a lease, with a fence.

local core = require "interlock.core"
local args = require "interlock.args"
local constants = require "interlock.constants"
local hold = require "interlock.hold"
local options = require "interlock.options"

---@class interlock.Lock: interlock.Hold
local Lock = {}

---@class interlock.LockOptions
---@field ttl_ms number? the lease; default 30000
---@field renew boolean? renew the lease while it is held; default true
---@field max_hold_ms number? renew no longer than this; default no end
---@field fair boolean? false takes a free lock past those who wait
---@field reentrant boolean? acquire on a holding handle counts
---@field layout "plain"|"redisson"? how it lies in the server
---@field foreign_poll_ms number? look after other libraries' holders

local rules = {
  ttl_ms = { "duration" },
  max_hold_ms = { "duration" },
  foreign_poll_ms = { "duration" },
  renew = { "flag", core.ILK_LOCK_NO_RENEW, when = false },
  fair = { "flag", core.ILK_LOCK_BARGE, when = false },
  reentrant = { "flag", core.ILK_LOCK_REENTRANT, when = true },
  layout = { "choice", constants.names("ILK_LAYOUT_") },
}

local verbs = hold.verbs("ilk_lock_")
local meta = hold.metatable("lock", Lock)

--- Take it, after those who asked before.
---
--- Blocks until it is ours, the time is over, or Ctrl-C raises an error.
---@param timeout_ms number? milliseconds; 0 tries once, nil waits for ever
---@param ttl_ms number? a lease for this acquire only
---@return true? ok
---@return string? msg
---@return integer? code ILK_EBUSY for 0, ILK_ETIMEOUT otherwise, and others
function Lock:acquire(timeout_ms, ttl_ms)
  local ms = args.timeout("timeout_ms", timeout_ms)
  local lease = args.duration("ttl_ms", ttl_ms)
  local take = verbs.acquire
  if lease > 0 then
    take = function(handle, left)
      return verbs.acquire_ttl(handle, left, lease)
    end
  end
  local ok, msg, code = hold.acquire(self, ms, take)
  return ok, msg, code
end

--- Stop renewing and give the hold away under its token.
---@return string? token what another process passes to adopt()
---@return string? msg
---@return integer? code
function Lock:detach()
  local ok, msg, code = verbs.detach(self._handle)
  if not ok then
    return nil, msg, code
  end
  return self.token
end

--- Take over a hold by its token; the fence stays.
---@param token string what detach() returned
---@return true? ok
---@return string? msg
---@return integer? code ILK_ELOST: no longer held under this token
function Lock:adopt(token)
  args.bytes("token", token)
  return verbs.adopt(self._handle, token)
end

local lock = {}

lock.rules = rules

--- Make an object of a handle.
---@param client interlock.Client
---@param name string
---@param handle userdata
---@return interlock.Lock
function lock.wrap(client, name, handle)
  local made = setmetatable({
    name = name,
    _title = ("%q"):format(name),
    _handle = handle,
    _verbs = verbs,
  }, meta)
  client._holds[made.id] = made
  return made
end

--- Make a lock of this name; nothing is sent. client:lock(name, opts)
---@param client interlock.Client
---@param name string 1 to 512 bytes, any bytes but a leading "ilk:"
---@param opts interlock.LockOptions?
---@return interlock.Lock? lock
---@return string? msg
---@return integer? code
function lock.open(client, name, opts)
  args.bytes("name", name)
  local record = options.fill(core.ilk_lock_opts_init(), rules, opts)
  local handle, msg, code = core.ilk_lock_open(client._handle, name, record)
  if code == core.ILK_EINVAL then
    error(msg, 2)
  elseif not handle then
    return nil, msg, code
  end
  return lock.wrap(client, name, handle)
end

return lock
