-- SPDX-License-Identifier: MIT
-- A client: one server, and the handles that are made from it.

local core = require "interlock.core"
local args = require "interlock.args"
local at_close = require "interlock.at_close"
local election = require "interlock.election"
local barrier = require "interlock.barrier"
local constants = require "interlock.constants"
local event = require "interlock.event"
local group = require "interlock.group"
local guard = require "interlock.guard"
local inspect = require "interlock.inspect"
local kv = require "interlock.kv"
local latch = require "interlock.latch"
local lock = require "interlock.lock"
local lock_many = require "interlock.lock_many"
local notification = require "interlock.notification"
local op = require "interlock.op"
local options = require "interlock.options"
local queue = require "interlock.queue"
local register = require "interlock.register"
local store = require "interlock.store"
local record = require "interlock.record"
local rwlock = require "interlock.rwlock"
local semaphore = require "interlock.semaphore"
local signal = require "interlock.signal"
local worker = require "interlock.worker"

---@class interlock.Client
---@field url string in use, without the password
---@field id string 16 hexadecimal digits
---@field stopped boolean whether stop() was called and resume() was not
---@field lock fun(self, name: string, opts?: interlock.LockOptions): interlock.Lock
---@field lock_many fun(self, names: string[], opts?: interlock.LockOptions): interlock.LockMany
---@field rwlock fun(self, name: string, opts?: interlock.LockOptions): interlock.RWLock
---@field queue fun(self, name: string, opts?: interlock.QueueOptions): interlock.Queue
---@field queues fun(self, names: string[], opts?: interlock.QueueOptions): interlock.Queue
---@field worker fun(self, names: string[], opts?: interlock.WorkerOptions): interlock.Worker
---@field election fun(self, name: string, opts?: interlock.ElectionOptions): interlock.Election
---@field semaphore fun(self, name: string, limit: integer, opts?: interlock.SemaphoreOptions)
---  : interlock.Semaphore
---@field inspect_semaphore fun(self, name: string): interlock.SemaphoreInfo?, string?, integer?
---@field inspect_semaphore_start fun(self, name: string): interlock.Op?, string?, integer?
---@field event fun(self, name: string, opts?: interlock.EventOptions): interlock.Event?
---@field signal fun(self, name: string, opts?: interlock.SignalOptions): interlock.Signal
---@field barrier fun(self, name: string, parties: integer, opts?: table): interlock.Barrier?
---@field latch fun(self, name: string, count: integer, opts?: table): interlock.Latch?
---@field group fun(self, name: string): interlock.Group?
---@field register fun(self, name: string): interlock.Register?
---@field store fun(self, name: string): interlock.Store?
---@field kv fun(self, name: string): interlock.KV?
---@field kv_move fun(self, after?: interlock.KVProgress): interlock.KVProgress?, string?, integer?
---@field kv_move_start fun(self, after?: interlock.KVProgress): interlock.Op?, string?, integer?
---@field inspect fun(self, name: string, kind: string?): interlock.Info?, string?, integer?
---@field inspect_start fun(self, name: string, kind: string?): interlock.Op?, string?, integer?
---@field ls fun(self, pattern?: string, kind?: string): string[]?, string?, integer?
---@field ls_start fun(self, pattern?: string, kind?: string): interlock.Op?, string?, integer?
---@field break_lock fun(self, name: string, token?: string): true?, string?, integer?
---@field break_lock_start fun(self, name: string, token?: string): interlock.Op?, string?, integer?
---@field break_election fun(self, name: string, token?: string): true?, string?, integer?
---@field break_election_start fun(self, name: string, token?: string)
---  : interlock.Op?, string?, integer?
---@field guard fun(self, key: string): interlock.Guard
---@field notifications fun(self): interlock.Notifications?, string?, integer?
local Client = {
  lock = lock.open,
  lock_many = lock_many.open,
  rwlock = rwlock.open,
  queue = queue.open,
  queues = queue.open_many,
  worker = worker.open,
  election = election.open,
  semaphore = semaphore.open,
  inspect_semaphore = semaphore.inspect,
  inspect_semaphore_start = semaphore.inspect_start,
  event = event.open,
  signal = signal.open,
  inspect_signal = signal.inspect,
  inspect_signal_start = signal.inspect_start,
  barrier = barrier.open,
  inspect_barrier = barrier.inspect,
  inspect_barrier_start = barrier.inspect_start,
  latch = latch.open,
  inspect_latch = latch.inspect,
  inspect_latch_start = latch.inspect_start,
  group = group.open,
  register = register.open,
  store = store.open,
  kv = kv.open,
  kv_move = kv.move,
  kv_move_start = kv.move_start,
  inspect = inspect.inspect,
  inspect_start = inspect.inspect_start,
  ls = inspect.ls,
  ls_start = inspect.ls_start,
  break_lock = inspect.break_lock,
  break_lock_start = inspect.break_lock_start,
  break_election = inspect.break_election,
  break_election_start = inspect.break_election_start,
  guard = guard.open,
  notifications = notification.open,
}

---@class interlock.ClientOptions
---@field connect_timeout_ms number? to connect and log in; default 2000, embedded 10000
---@field reply_timeout_ms number? to wait for one reply; default 5000
---@field outage_ms number? to try again while the server cannot be reached; 0 for one
---  attempt; default connect_timeout_ms, with sentinels and for a cluster 15000
---@field label string? shown by inspection; default host:pid
---@field listen string? replicas to receive wake-ups from too, "host:port,..."
---@field lazy boolean? connect at the first call; default false
---@field embedded boolean? false never starts an embedded server
---@field protocol integer? RESP 2 or 3; default 3, falling back

local rules = {
  connect_timeout_ms = { "duration" },
  reply_timeout_ms = { "duration" },
  outage_ms = { "duration", zero = core.ILK_CLIENT_NO_OUTAGE_WAIT },
  label = { "string" },
  listen = { "string" },
  lazy = { "flag", core.ILK_CLIENT_LAZY, when = true },
  embedded = { "flag", core.ILK_CLIENT_NO_EMBEDDED, when = false },
  protocol = { "number" },
}

local getters = {
  url = core.ilk_client_url,
  id = core.ilk_client_id,
  stopped = function(handle)
    return core.ilk_client_stopped(handle) ~= 0
  end,
}

local node_states = constants.names "ILK_NODE_"
local node_registers = constants.names "ILK_REGISTERS_"

local meta = {}

function meta.__index(self, key)
  local getter = getters[key]
  if getter then
    return getter(self._handle)
  end
  return Client[key]
end

function meta.__tostring(self)
  return ("client of %s"):format(self.url)
end

function meta.__close(self)
  core.ilk_client_close(self._handle)
end

--- Ask whether the server can be reached. Of several servers as many must reply as a
--- client needs to be opened: of a quorum a majority, of a cluster or a ring one.
---@param timeout_ms number? milliseconds; nil for reply_timeout_ms
---@return true? ok
---@return string? msg
---@return integer? code
function Client:ping(timeout_ms)
  local ms = args.timeout("timeout_ms", timeout_ms)
  return core.ilk_client_ping(self._handle, ms)
end

--- Start ping().
---@param timeout_ms number? as for ping
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Client:ping_start(timeout_ms)
  local ms = args.timeout("timeout_ms", timeout_ms)
  return op.wrap(self, op.ok, core.ilk_client_ping_start(self._handle, ms))
end

--- End all waits with ILK_ECANCELLED, those under way and those that begin later,
--- until resume(). Calls that do not wait still work. A signal handler may call it.
function Client:stop()
  core.ilk_client_stop(self._handle)
end

--- End the effect of stop(): calls wait again.
function Client:resume()
  core.ilk_client_resume(self._handle)
end

--- Return whether the store behind the URL can keep something. One Redis or Valkey
--- server keeps everything.
---@param what string "lock", "rwlock", "many", "semaphore", "election", "queue", "signal",
--- "event", "barrier", "latch", "group", "guard", "list", "recipes", "register", "store", "kv",
--- or "detach" for holds that outlive their client: detached and adopted ones
---@return boolean
function Client:offers(what)
  local bit = type(what) == "string" and core["ILK_OFFER_" .. what:upper()]
  if not bit then
    error(("what must be the name of a primitive, got %s"):format(tostring(what)), 2)
  end
  return core.ilk_client_offers(self._handle, bit) ~= 0
end

---@class interlock.NodeStats
---@field address string host:port, as in the URL
---@field state "connecting"|"voting"|"waiting"|"failed"
---@field wait_ms integer until a node that waits may vote
---@field round_trip_us integer of the last reply; -1 without one
---@field clock_offset_us integer by which the node's clock is ahead
---@field error string the last failure
---@field registers "kept"|"none"|"lost"|"returning"|"refused"|"foreign"|"unknown"
---@field registers_error string why it keeps none
---@field [string] integer counters, see docs/quorum.md

--- The nodes of a quorum, in the order of the URL.
local function nodes_of(handle)
  local nodes = {}
  local node = core.ilk_client_get_node_stats(handle, 0)
  while node do
    local found = record.totable(node)
    found.state = node_states[found.state]
    found.registers = node_registers[found.registers]
    nodes[#nodes + 1] = found
    node = core.ilk_client_get_node_stats(handle, #nodes)
  end
  return nodes
end

--- Return the counters since the client was opened, and in `nodes` those of each node of
--- a quorum (interlock.NodeStats[]).
---@return table<string, any>? stats
---@return string? msg
---@return integer? code
function Client:stats()
  local found, msg, code = core.ilk_client_get_stats(self._handle)
  if not found then
    return nil, msg, code
  end
  local stats = record.totable(found)
  stats.nodes = nodes_of(self._handle)
  return stats
end

--- After a fork, give the child connections and an identity of its own.
---@return true? ok
---@return string? msg
---@return integer? code
function Client:reopen()
  return core.ilk_client_reopen(self._handle)
end

--- Close: what is renewed is released (locks, semaphores, leaderships, members of
--- groups), and the connections are closed. A second call does nothing.
---@return true? ok
---@return string? msg
---@return integer? code
function Client:close()
  return core.ilk_client_close(self._handle)
end

local client = {}

--- Open a client. interlock.connect(url, opts)
---@param url string? nil: $INTERLOCK_URL, else an embedded server
---@param opts interlock.ClientOptions?
---@return interlock.Client? client
---@return string? msg
---@return integer? code
function client.connect(url, opts)
  args.text("url", url)
  local filled = options.fill(core.ilk_client_opts_init(), rules, opts)
  -- The interpreters of 5.1 and LuaJIT let the kernel restart interrupted system
  -- calls: without ticks a wait would never return to run a signal handler.
  filled.flags = filled.flags + core.ILK_CLIENT_TICK
  local handle, msg, code = core.ilk_client_open(url, filled)
  if not handle then
    return nil, msg, code
  end
  local holds = setmetatable({}, { __mode = "v" })
  local made = { _handle = handle, _holds = holds, _ops = {}, _records = {} }
  made._joined = { members = {}, count = 0, limit = 16 } -- see group.lua
  setmetatable(made, meta)
  at_close.add(made)
  return made
end

return client
