-- SPDX-License-Identifier: MIT
-- A lock that many readers or one writer hold, first come, first served.

local core = require "interlock.core"
local args = require "interlock.args"
local hold = require "interlock.hold"
local lock = require "interlock.lock"
local options = require "interlock.options"

---@class interlock.RWLock
---@field name string
---@field read interlock.Lock shares the name with other readers
---@field write interlock.Lock has the name alone

local rwlock = {}

--- Make both sides of a read-write lock; nothing is sent.
--- client:rwlock(name, opts)
---@param client interlock.Client
---@param name string as for client:lock
---@param opts interlock.LockOptions?
---@return interlock.RWLock? rwlock
---@return string? msg
---@return integer? code
function rwlock.open(client, name, opts)
  args.bytes("name", name)
  local record = options.fill(core.ilk_lock_opts_init(), lock.rules, opts)
  local made = { name = name }
  for _, side in ipairs { "read", "write" } do
    local open = core["ilk_rwlock_" .. side .. "_open"]
    local shown = { name = name, _shared = side == "read" or nil }
    local handle, msg, code = hold.wrap(lock.meta, client, shown, opts,
      open(client._handle, name, record))
    if not handle then
      return nil, msg, code
    end
    made[side] = handle
  end
  return made
end

return rwlock
