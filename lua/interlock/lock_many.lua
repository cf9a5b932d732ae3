-- SPDX-License-Identifier: MIT
-- One lock over many names: all of them or none.

local core = require "interlock.core"
local args = require "interlock.args"
local hold = require "interlock.hold"
local lock = require "interlock.lock"
local options = require "interlock.options"

---@class interlock.LockMany: interlock.Hold
local LockMany = {}

local meta = hold.metatable("lock over many names", LockMany,
  hold.functions("ilk_lock_many_"), nil, "lock")

--- Take back the hold of a collected object of the same client, by its token.
---@param token string
---@return true? ok
---@return string? msg
---@return integer? code ILK_ELOST: there is none with this token and these names
function LockMany:adopt(token)
  return hold.take_back(self, token)
end

local lock_many = {}

--- Make a lock over many names; nothing is sent.
--- client:lock_many(names, opts)
---@param client interlock.Client
---@param names string[] 1 to 64 names
---@param opts interlock.LockOptions?
---@return interlock.LockMany? many
---@return string? msg
---@return integer? code
function lock_many.open(client, names, opts)
  args.names("names", names)
  local record = options.fill(core.ilk_lock_opts_init(), lock.rules, opts)
  local shown = { name = args.copy(names), _title = "of " .. #names }
  local made, msg, code = hold.wrap(meta, client, shown, opts,
    core.ilk_lock_many_open(client._handle, names, record))
  return made, msg, code
end

return lock_many
