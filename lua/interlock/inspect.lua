-- SPDX-License-Identifier: MIT
-- Inspection of locks: who holds, who waits, and which names there are.

local core = require "interlock.core"
local args = require "interlock.args"
local constants = require "interlock.constants"
local op = require "interlock.op"

local states = constants.names("ILK_INFO_")

-- The primitives whose names can be listed, by the client's method for each.
local kinds = {}
for bit, name in pairs(constants.names("ILK_KIND_")) do
  kinds[name] = bit
end

---@class interlock.Waiter
---@field label string the label of its client, host:pid by default
---@field token string the token that it will hold under

---@class interlock.Info
---@field state "free"|"held"|"foreign"|"readers"|"redisson"
---@field holder string? the holder's token; nil when nobody holds
---@field label string? the label of the holder's client; nil for another library
---@field since_ms integer begin of the hold, server's clock; 0 when unknown
---@field ttl_ms integer the remaining lease; -1 for a foreign lock without one
---@field fence integer the last fence of this name; 0 for none
---@field readers integer how many readers hold
---@field waiting integer the number of all waiters
---@field waiters interlock.Waiter[] the first 100, in the order of the wait queue

local function waiters(info)
  local found = {}
  for i = 0, core.ilk_info_listed(info) - 1 do
    found[i + 1] = {
      label = core.ilk_info_waiter_label(info, i),
      token = core.ilk_info_waiter_token(info, i),
    }
  end
  return found
end

local function nil_if_empty(text)
  return text ~= "" and text or nil
end

local inspect = {}

local function to_info(info)
  return {
    state = states[core.ilk_info_get_state(info)],
    holder = nil_if_empty(core.ilk_info_holder(info)),
    label = nil_if_empty(core.ilk_info_label(info)),
    since_ms = core.ilk_info_since_ms(info),
    ttl_ms = core.ilk_info_ttl_ms(info),
    fence = core.ilk_info_fence(info),
    readers = core.ilk_info_readers(info),
    waiting = core.ilk_info_waiters(info),
    waiters = waiters(info),
  }
end

--- Inspect one lock. client:inspect(name)
---@param client interlock.Client
---@param name string
---@return interlock.Info? info
---@return string? msg
---@return integer? code
function inspect.inspect(client, name)
  args.bytes("name", name)
  local info, msg, code = core.ilk_inspect(client._handle, name)
  if not info then
    return nil, msg, code
  end
  return to_info(info)
end

--- Start inspect(). client:inspect_start(name)
---@param client interlock.Client
---@param name string
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function inspect.inspect_start(client, name)
  args.bytes("name", name)
  return op.wrap(client, function(handle)
    return to_info(core.ilk_op_info(handle))
  end, core.ilk_inspect_start(client._handle, name))
end

local function names_of(list)
  local names = {}
  for i = 1, core.ilk_list_count(list) do
    names[i] = core.ilk_list_name(list, i - 1)
  end
  return names
end

--- List the names of locks that are held or waited for, or were within the last
--- day. It scans the whole key space: for operators. client:ls(pattern, kind)
---@param client interlock.Client
---@param pattern string? a glob as in Redis' KEYS; nil for all
---@param kind string? the primitive: lock (default), semaphore, election, signal,
---  event, barrier, latch, queue, group, register, store or kv
---@return string[]? names in byte order
---@return string? msg
---@return integer? code
function inspect.ls(client, pattern, kind)
  args.optional_bytes("pattern", pattern)
  local bit = args.one_of("kind", kind or "lock", kinds)
  local list, msg, code = core.ilk_list_open_kinds(client._handle, bit, pattern)
  if not list then
    return nil, msg, code
  end
  return names_of(list)
end

--- Start ls(). client:ls_start(pattern, kind)
---@param client interlock.Client
---@param pattern string? as for ls
---@param kind string? as for ls
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function inspect.ls_start(client, pattern, kind)
  args.optional_bytes("pattern", pattern)
  local bit = args.one_of("kind", kind or "lock", kinds)
  return op.wrap(client, function(handle)
    return names_of(core.ilk_op_list(handle))
  end, core.ilk_list_open_start(client._handle, bit, pattern))
end

--- Take a lock away from its holder. client:break_lock(name, token)
---@param client interlock.Client
---@param name string
---@param token string? break only this holder's lock
---@return true? ok
---@return string? msg
---@return integer? code ILK_ENOTOWNER: nobody, or not that token, holds it
function inspect.break_lock(client, name, token)
  args.bytes("name", name)
  args.optional_bytes("token", token)
  return core.ilk_lock_break(client._handle, name, token)
end

--- Start break_lock(). client:break_lock_start(name, token)
---@param client interlock.Client
---@param name string
---@param token string? break only this holder's lock
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function inspect.break_lock_start(client, name, token)
  args.bytes("name", name)
  args.optional_bytes("token", token)
  return op.wrap(client, op.ok,
    core.ilk_lock_break_start(client._handle, name, token))
end

--- End the term of whoever leads. client:break_election(name, token)
---@param client interlock.Client
---@param name string
---@param token string? break only this leader's term
---@return true? ok
---@return string? msg
---@return integer? code ILK_ENOTOWNER: nobody, or not that token, leads
function inspect.break_election(client, name, token)
  args.bytes("name", name)
  args.optional_bytes("token", token)
  return core.ilk_election_break(client._handle, name, token)
end

--- Start break_election(). client:break_election_start(name, token)
---@param client interlock.Client
---@param name string
---@param token string? break only this leader's term
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function inspect.break_election_start(client, name, token)
  args.bytes("name", name)
  args.optional_bytes("token", token)
  return op.wrap(client, op.ok,
    core.ilk_election_break_start(client._handle, name, token))
end

return inspect
