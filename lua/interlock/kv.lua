-- SPDX-License-Identifier: MIT
-- Replicated values: keys with one value each, of which the newest wins.

local core = require "interlock.core"
local args = require "interlock.args"
local object = require "interlock.object"
local op = require "interlock.op"
local options = require "interlock.options"
local record = require "interlock.record"

---@class interlock.KV
---@field name string
local KV = {}

local meta = object.metatable("kv", KV, {})

---@class interlock.KVOptions
---@field fast boolean? with several servers: do not read their versions first; then a
---  change is lost when this machine's clock is behind that of another writer

local rules = { fast = { "flag", core.ILK_KV_FAST, when = true } }

local function value_of(entry)
  local value = core.ilk_kv_entry_value(entry)
  if not value then
    return nil
  end
  return value, core.ilk_kv_entry_version(entry)
end

--- Read the newest value of a key.
---@param key string 1 to 512 bytes
---@return string? value nil when there is none, and after an error
---@return integer|string|nil version or msg; nil when there is no value
---@return integer? code ILK_ENOQUORUM: too few servers have replied
function KV:get(key)
  args.bytes("key", key)
  local entry, msg, code = core.ilk_kv_get(self._handle, key)
  if not entry then
    return nil, msg, code
  end
  return value_of(entry)
end

--- Start get().
---@param key string
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function KV:get_start(key)
  args.bytes("key", key)
  return op.wrap(self, function(handle)
    return value_of(core.ilk_op_kv_entry(handle))
  end, core.ilk_kv_get_start(self._handle, key))
end

--- Write a value, whatever is there.
---@param key string 1 to 512 bytes
---@param value string up to 64 KiB
---@param opts interlock.KVOptions?
---@return integer? version
---@return string? msg
---@return integer? code ILK_ENOQUORUM: too few servers have it; a get may find it or not
function KV:put(key, value, opts)
  args.bytes("key", key)
  args.bytes("value", value)
  local flags = options.fill({ flags = 0 }, rules, opts).flags
  return core.ilk_kv_put(self._handle, key, value, flags)
end

--- Start put().
---@param key string
---@param value string
---@param opts interlock.KVOptions?
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function KV:put_start(key, value, opts)
  args.bytes("key", key)
  args.bytes("value", value)
  local flags = options.fill({ flags = 0 }, rules, opts).flags
  return op.wrap(self, op.number, core.ilk_kv_put_start(self._handle, key, value, flags))
end

--- Delete a key, whether it has a value or not.
---@param key string 1 to 512 bytes
---@param opts interlock.KVOptions?
---@return integer? version of the change
---@return string? msg
---@return integer? code as put()
function KV:delete(key, opts)
  args.bytes("key", key)
  local flags = options.fill({ flags = 0 }, rules, opts).flags
  return core.ilk_kv_delete(self._handle, key, flags)
end

--- Start delete().
---@param key string
---@param opts interlock.KVOptions?
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function KV:delete_start(key, opts)
  args.bytes("key", key)
  local flags = options.fill({ flags = 0 }, rules, opts).flags
  return op.wrap(self, op.number, core.ilk_kv_delete_start(self._handle, key, flags))
end

local kv = {}

--- Make a handle for the values of this name; nothing is sent. client:kv(name)
---@param client interlock.Client
---@param name string 1 to 512 bytes, any bytes but a leading "ilk:"
---@return interlock.KV? kv
---@return string? msg
---@return integer? code
function kv.open(client, name)
  args.bytes("name", name)
  local made, msg, code = object.wrap(meta, client, name, core.ilk_kv_open(client._handle, name))
  return made, msg, code
end

---@class interlock.KVProgress
---@field server integer the server that is looked through, from 0
---@field servers integer how many there are
---@field looked integer records that were found
---@field copied integer copies that were written
---@field removed integer copies that were removed from a wrong server
---@field done boolean whether all servers were looked through

local function to_progress(at)
  local found = record.totable(at)
  found.done = found.is_done ~= 0
  found._record = at
  return found
end

local function record_of(after)
  local at = type(after) == "table" and after._record
  if after ~= nil and not at then
    error("after must be what kv_move() has returned, or nil", 3)
  end
  return at or nil
end

--- Put the values of all names where they belong, one step of the way: about 100
--- records of one server. Repeat it until `done`. client:kv_move(after)
---@param client interlock.Client
---@param after interlock.KVProgress? what the step before has returned; nil begins
---@return interlock.KVProgress? progress
---@return string? msg
---@return integer? code ILK_ENOQUORUM: a server cannot be reached; repeat the step
function kv.move(client, after)
  local at, msg, code = core.ilk_kv_move(client._handle, record_of(after))
  if not at then
    return nil, msg, code
  end
  return to_progress(at)
end

--- Start kv_move().
---@param client interlock.Client
---@param after interlock.KVProgress?
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function kv.move_start(client, after)
  return op.wrap(client, function(handle)
    return to_progress(core.ilk_op_kv_progress(handle))
  end, core.ilk_kv_move_start(client._handle, record_of(after)))
end

return kv
