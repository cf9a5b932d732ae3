-- SPDX-License-Identifier: MIT
-- One lock over many names: all of them or none.

local core = require "interlock.core"
local args = require "interlock.args"
local hold = require "interlock.hold"
local lock = require "interlock.lock"
local options = require "interlock.options"

---@class interlock.LockMany: interlock.Hold
local LockMany = {}

local verbs = hold.verbs("ilk_lock_many_")
local meta = hold.metatable("lock over many names", LockMany)

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
  local handle, msg, code =
    core.ilk_lock_many_open(client._handle, names, record)
  if code == core.ILK_EINVAL then
    error(msg, 2)
  elseif not handle then
    return nil, msg, code
  end
  local copy = {}
  for i = 1, #names do
    copy[i] = names[i]
  end
  local made = setmetatable({
    name = copy,
    _title = "of " .. #names,
    _handle = handle,
    _verbs = verbs,
  }, meta)
  client._holds[made.id] = made
  return made
end

return lock_many
