-- SPDX-License-Identifier: MIT
-- A lock that one owner at a time holds, under a lease, with a fence.

local core = require "interlock.core"
local args = require "interlock.args"
local constants = require "interlock.constants"
local hold = require "interlock.hold"
local op = require "interlock.op"
local transferable_hold = require "interlock.transferable_hold"
local options = require "interlock.options"

---@class interlock.Lock: interlock.TransferableHold
local Lock = {}

---@class interlock.LockOptions
---@field ttl_ms number? the lease; default 30000
---@field renew boolean? renew the lease while it is held; default true
---@field max_hold_ms number? end the hold after this unless it is extended; default no limit
---@field fair boolean? false takes a free lock ahead of the wait queue
---@field reentrant boolean? a handle that holds may be acquired again
---@field layout "plain"|"redisson"? the format of the key on the server
---@field foreign_poll_ms number? between polls while another library holds

local function is_locked(info)
  return core.ilk_info_get_state(info) ~= core.ILK_INFO_FREE
end

--- Ask the server whether anyone holds it, this handle or another owner. For a
--- handle of either kind, a writer counts and readers count.
---@return boolean? locked
---@return string? msg
---@return integer? code
function Lock:locked()
  local info, msg, code = core.ilk_inspect(self._client, self.name)
  if not info then
    return nil, msg, code
  end
  return is_locked(info)
end

--- Start locked().
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Lock:locked_start()
  return op.wrap(self, function(handle)
    return is_locked(core.ilk_op_info(handle))
  end, core.ilk_inspect_start(self._client, self.name))
end

local rules = {
  ttl_ms = { "duration" },
  max_hold_ms = { "duration" },
  foreign_poll_ms = { "duration" },
  renew = { "flag", core.ILK_LOCK_NO_RENEW, when = false },
  fair = { "flag", core.ILK_LOCK_BARGE, when = false },
  reentrant = { "flag", core.ILK_LOCK_REENTRANT, when = true },
  layout = { "choice", constants.names("ILK_LAYOUT_") },
}

local meta = hold.metatable("lock", transferable_hold.add(Lock), hold.functions("ilk_lock_"))

local lock = {}

lock.rules = rules
lock.meta = meta

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
  local made, msg, code = hold.wrap(meta, client, { name = name }, opts,
    core.ilk_lock_open(client._handle, name, record))
  return made, msg, code
end

return lock
