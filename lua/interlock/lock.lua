-- SPDX-License-Identifier: MIT
-- A lock that one owner at a time holds, under a lease, with a fence.

local core = require "interlock.core"
local args = require "interlock.args"
local constants = require "interlock.constants"
local hold = require "interlock.hold"
local named_hold = require "interlock.named_hold"
local options = require "interlock.options"

---@class interlock.Lock: interlock.NamedHold
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

local meta = hold.metatable("lock", named_hold.add(Lock), hold.functions("ilk_lock_"))

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
  local made, msg, code = hold.wrap(meta, client, { name = name },
    core.ilk_lock_open(client._handle, name, record))
  return made, msg, code
end

return lock
