-- SPDX-License-Identifier: MIT
-- The store: many keys with values, read and changed by transactions.

local core = require "interlock.core"
local args = require "interlock.args"
local op = require "interlock.op"
local object = require "interlock.object"

local outcomes = {
  [core.ILK_TXN_UNDECIDED] = "undecided",
  [core.ILK_TXN_COMMITTED] = "committed",
  [core.ILK_TXN_ABORTED] = "aborted",
}

---@class interlock.Transaction
---@field id string for store:outcome(); "" before its commit
local Transaction = {}

local transaction_meta = {
  __index = function(self, key)
    if key == "id" then
      return core.ilk_txn_id(self._handle)
    end
    return Transaction[key]
  end,
  __tostring = function()
    return "transaction"
  end,
}

-- A read that conflicts makes the commit fail in the same way.
local function found(self, ok, msg, code)
  if ok then
    return core.ilk_txn_value(self._handle)
  end
  if code == core.ILK_ECONFLICT then
    self._conflict = msg
  end
  return nil, msg, code
end

--- Read a key as of the transaction's time, or what it has written there itself.
---@param key string 1 to 512 bytes
---@return string? value nil when there is none, and after an error
---@return string? msg nil when there is no value
---@return integer? code ILK_ECONFLICT, of a snapshot ILK_ESTALE: no longer kept
function Transaction:get(key)
  args.bytes("key", key)
  return found(self, core.ilk_txn_get(self._handle, key))
end

--- Start get().
---@param key string
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Transaction:get_start(key)
  args.bytes("key", key)
  return op.wrap(self, function()
    return core.ilk_txn_value(self._handle)
  end, core.ilk_txn_get_start(self._handle, key))
end

--- Write a key when the transaction commits.
---@param key string
---@param value string up to 64 KiB
---@return true? ok
---@return string? msg
---@return integer? code
function Transaction:put(key, value)
  args.bytes("key", key)
  args.bytes("value", value)
  return core.ilk_txn_put(self._handle, key, value)
end

--- Delete a key when the transaction commits, whether it has a value or not.
---@param key string
---@return true? ok
---@return string? msg
---@return integer? code
function Transaction:delete(key)
  args.bytes("key", key)
  return core.ilk_txn_delete(self._handle, key)
end

--- Make all writes visible, in one step; the transaction has then ended.
---@return true? ok
---@return string? msg
---@return integer? code ILK_ECONFLICT: refused; ILK_ETIMEOUT: it took longer than a
---  minute. Nothing is written
function Transaction:commit()
  if self._conflict then
    return nil, self._conflict, core.ILK_ECONFLICT
  end
  return core.ilk_txn_commit(self._handle)
end

--- Start commit().
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Transaction:commit_start()
  return op.wrap(self, op.ok, core.ilk_txn_commit_start(self._handle))
end

---@class interlock.Store
---@field name string
local Store = {}

local meta = object.metatable("store", Store, {})

local function begin(self, flags)
  local handle, msg, code = core.ilk_txn_begin(self._handle, flags)
  if not handle then
    return nil, msg, code
  end
  return setmetatable({ _handle = handle, _ops = self._ops, _conflict = false }, transaction_meta)
end

--- Begin a transaction; nothing is sent. One that is not committed leaves nothing.
---@return interlock.Transaction? transaction
---@return string? msg
---@return integer? code
function Store:begin()
  return begin(self, 0)
end

--- All keys as of one moment, that of the first read, for up to a minute.
---@return interlock.Transaction? snapshot that only reads
---@return string? msg
---@return integer? code
function Store:snapshot()
  return begin(self, core.ILK_TXN_SNAPSHOT)
end

-- One attempt. `ok` false: an error of fn, which is raised.
local function attempt(self, fn)
  local transaction, msg, code = self:begin()
  if not transaction then
    return nil, msg, code
  end
  local result = fn(transaction)
  local ok
  ok, msg, code = transaction:commit()
  if not ok then
    return nil, msg, code
  end
  return true, result
end

-- ms; the longest pause after a conflict. Without pauses, two transactions that refuse each
-- other again and again would go on in step.
local PAUSE_MOST = 50

--- Call fn with a transaction and commit. After a conflict it begins again with
--- another one; after several conflicts it first pauses a little. So fn may run more
--- than once.
---@param fn fun(transaction: interlock.Transaction): any
---@param timeout_ms number? milliseconds in which attempts begin; nil: no limit
---@return true? ok
---@return any result of fn; or msg
---@return integer? code ILK_ECONFLICT: the last attempt in time was refused
function Store:run(fn, timeout_ms)
  args.callable("fn", fn)
  local ms = args.timeout("timeout_ms", timeout_ms)
  local ends = ms >= 0 and core.ilk_lua_clock_ms() + ms or math.huge
  local pause = 0
  while true do
    local ok, result, code = attempt(self, fn)
    if ok or code ~= core.ILK_ECONFLICT or core.ilk_lua_clock_ms() >= ends then
      return ok, result, code
    end
    core.ilk_lua_sleep_ms(math.random(0, pause))
    pause = math.min(2 * pause + 1, PAUSE_MOST)
  end
end

--- Return the end of a transaction: "committed", "aborted" or "undecided". One that is
--- not committed by then is aborted by this call.
---@param id string a transaction's, after ILK_EUNKNOWN
---@return string? outcome
---@return string? msg
---@return integer? code
function Store:outcome(id)
  args.text("id", id)
  local number, msg, code = core.ilk_store_outcome(self._handle, id)
  if not number then
    return nil, msg, code
  end
  return outcomes[number]
end

--- Start outcome().
---@param id string
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Store:outcome_start(id)
  args.text("id", id)
  return op.wrap(self, function(handle)
    return outcomes[core.ilk_op_number(handle)]
  end, core.ilk_store_outcome_start(self._handle, id))
end

local store = {}

--- Make a store of this name; nothing is sent. client:store(name)
---@param client interlock.Client
---@param name string 1 to 512 bytes, any bytes but a leading "ilk:"
---@return interlock.Store? store
---@return string? msg
---@return integer? code
function store.open(client, name)
  args.bytes("name", name)
  local made, msg, code = object.wrap(meta, client, name, core.ilk_store_open(client._handle, name))
  return made, msg, code
end

return store
