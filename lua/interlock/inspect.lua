-- SPDX-License-Identifier: MIT
-- Inspection of names: who holds, who waits, and which names there are.

local core = require "interlock.core"
local args = require "interlock.args"
local constants = require "interlock.constants"
local op = require "interlock.op"

-- The primitives whose names can be listed, by the client's method for each.
local kinds = {}
for bit, name in pairs(constants.names("ILK_KIND_")) do
  kinds[name] = bit
end

---@class interlock.Waiter
---@field label string the label of its client, host:pid by default
---@field token string the token that it will hold under
---@field client string? the id of its client; nil when not known
---@field permits integer how many it waits for; 1 but for a semaphore
---@field waited_ms integer? so far; nil when not known

---@class interlock.Holder
---@field label string the label of its client, host:pid by default; of a member its id
---@field token string the token that it holds under
---@field client string? the id of its client; nil when not known
---@field permits integer permits of a semaphore, reserved messages of a queue
---@field fence integer 0 when none is on record
---@field since_ms integer by the server's clock; 0 when unknown
---@field ttl_ms integer the remaining lease; -1: it has no end that is known

---@class interlock.Info
---@field kind string
---@field state string of a lock free, held, foreign, readers or redisson
---@field in_use boolean the server has something on record
---@field client string? the id of the holder's client
---@field holders interlock.Holder[] the first 100
---@field holding integer the number of all holders
---@field longest_wait_ms integer? nil when not known
---@field facts table<string, integer|string> what only this kind has: limit, ready
---@field holder string? the first holder's token; nil when nobody holds
---@field label string? the label of the holder's client; nil for another library
---@field since_ms integer begin of the hold, server's clock; 0 when unknown
---@field ttl_ms integer the remaining lease; -1: it has no end that is known
---@field fence integer the last fence of this name; 0 for none
---@field readers integer how many readers hold
---@field waiting integer? the number of all waiters; nil when not known
---@field waiters interlock.Waiter[] the first 100, in the order of the wait queue

local function nil_if_empty(text)
  return text ~= "" and text or nil
end

local function nil_if_negative(number)
  return number >= 0 and number or nil
end

local inspect = {}

--- The first 100 waiters that an inspection has found.
function inspect.waiters(info)
  local found = {}
  for i = 0, core.ilk_info_listed(info) - 1 do
    found[i + 1] = {
      label = core.ilk_info_waiter_label(info, i),
      token = core.ilk_info_waiter_token(info, i),
      client = nil_if_empty(core.ilk_info_waiter_client(info, i)),
      permits = core.ilk_info_waiter_permits(info, i),
      waited_ms = nil_if_negative(core.ilk_info_waiter_waited_ms(info, i)),
    }
  end
  return found
end

--- The first 100 holders.
function inspect.holders(info)
  local found = {}
  for i = 0, core.ilk_info_holders_listed(info) - 1 do
    found[i + 1] = {
      label = core.ilk_info_holder_label(info, i),
      token = core.ilk_info_holder_token(info, i),
      client = nil_if_empty(core.ilk_info_holder_client(info, i)),
      permits = core.ilk_info_holder_permits(info, i),
      fence = core.ilk_info_holder_fence(info, i),
      since_ms = core.ilk_info_holder_since_ms(info, i),
      ttl_ms = core.ilk_info_holder_ttl_ms(info, i),
    }
  end
  return found
end

local function facts(info)
  local found = {}
  for i = 0, core.ilk_info_facts(info) - 1 do
    found[core.ilk_info_fact_name(info, i)] = core.ilk_info_fact_text(info, i)
      or core.ilk_info_fact_number(info, i)
  end
  return found
end

local function to_info(info)
  return {
    kind = core.ilk_kind_name(core.ilk_info_kind(info)),
    state = core.ilk_info_state_name(info),
    in_use = core.ilk_info_in_use(info) == 1,
    client = nil_if_empty(core.ilk_info_holder_client(info, 0)),
    holders = inspect.holders(info),
    holding = core.ilk_info_holders(info),
    longest_wait_ms = nil_if_negative(core.ilk_info_longest_wait_ms(info)),
    facts = facts(info),
    holder = nil_if_empty(core.ilk_info_holder(info)),
    label = nil_if_empty(core.ilk_info_label(info)),
    since_ms = core.ilk_info_since_ms(info),
    ttl_ms = core.ilk_info_ttl_ms(info),
    fence = core.ilk_info_fence(info),
    readers = core.ilk_info_readers(info),
    waiting = nil_if_negative(core.ilk_info_waiters(info)),
    waiters = inspect.waiters(info),
  }
end

--- Inspect one name. client:inspect(name, kind)
---@param client interlock.Client
---@param name string
---@param kind string? as of ls(), but store and kv; lock by default
---@return interlock.Info? info
---@return string? msg
---@return integer? code
function inspect.inspect(client, name, kind)
  args.bytes("name", name)
  local bit = args.one_of("kind", kind or "lock", kinds)
  local info, msg, code = core.ilk_inspect_kind(client._handle, bit, name)
  if not info then
    return nil, msg, code
  end
  return to_info(info)
end

--- Start inspect(). client:inspect_start(name, kind)
---@param client interlock.Client
---@param name string
---@param kind string?
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function inspect.inspect_start(client, name, kind)
  args.bytes("name", name)
  local bit = args.one_of("kind", kind or "lock", kinds)
  return op.wrap(client, function(handle)
    return to_info(core.ilk_op_info(handle))
  end, core.ilk_inspect_kind_start(client._handle, bit, name))
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
