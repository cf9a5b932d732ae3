-- SPDX-License-Identifier: MIT
-- A client: one server, and the handles that are made from it.

local core = require "interlock.core"
local args = require "interlock.args"
local election = require "interlock.election"
local barrier = require "interlock.barrier"
local event = require "interlock.event"
local guard = require "interlock.guard"
local inspect = require "interlock.inspect"
local latch = require "interlock.latch"
local lock = require "interlock.lock"
local lock_many = require "interlock.lock_many"
local notification = require "interlock.notification"
local op = require "interlock.op"
local options = require "interlock.options"
local queue = require "interlock.queue"
local record = require "interlock.record"
local rwlock = require "interlock.rwlock"
local semaphore = require "interlock.semaphore"
local signal = require "interlock.signal"
local worker = require "interlock.worker"

---@class interlock.Client
---@field url string in use, without the password
---@field id string 16 hexadecimal digits
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
---@field inspect fun(self, name: string): interlock.Info?, string?, integer?
---@field inspect_start fun(self, name: string): interlock.Op?, string?, integer?
---@field ls fun(self, pattern?: string): string[]?, string?, integer?
---@field ls_start fun(self, pattern?: string): interlock.Op?, string?, integer?
---@field break_lock fun(self, name: string, token?: string): true?, string?, integer?
---@field break_lock_start fun(self, name: string, token?: string): interlock.Op?, string?, integer?
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
  inspect = inspect.inspect,
  inspect_start = inspect.inspect_start,
  ls = inspect.ls,
  ls_start = inspect.ls_start,
  break_lock = inspect.break_lock,
  break_lock_start = inspect.break_lock_start,
  guard = guard.open,
  notifications = notification.open,
}

---@class interlock.ClientOptions
---@field connect_timeout_ms number? to connect and log in; default 2000
---@field reply_timeout_ms number? to wait for one reply; default 5000
---@field label string? shown by inspection; default host:pid
---@field listen string? replicas to hear wake-ups from as well, "host:port,..."
---@field lazy boolean? connect at the first call; default false
---@field embedded boolean? false never starts an embedded server
---@field protocol integer? RESP 2 or 3; default 3, falling back

local rules = {
  connect_timeout_ms = { "duration" },
  reply_timeout_ms = { "duration" },
  label = { "string" },
  listen = { "string" },
  lazy = { "flag", core.ILK_CLIENT_LAZY, when = true },
  embedded = { "flag", core.ILK_CLIENT_NO_EMBEDDED, when = false },
  protocol = { "number" },
}

local getters = { url = core.ilk_client_url, id = core.ilk_client_id }

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

--- Ask the server for a sign of life.
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

--- Counters since the client was opened.
---@return table<string, integer>? stats
---@return string? msg
---@return integer? code
function Client:stats()
  local stats, msg, code = core.ilk_client_get_stats(self._handle)
  if not stats then
    return nil, msg, code
  end
  return record.totable(stats)
end

--- After a fork, give the child connections and an identity of its own.
---@return true? ok
---@return string? msg
---@return integer? code
function Client:reopen()
  return core.ilk_client_reopen(self._handle)
end

--- Close: renewal stops, leases that are held run out. Again is harmless.
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
  -- The interpreter of 5.1 and LuaJIT lets the kernel restart what a signal
  -- has interrupted: a wait that never comes back would never hear of it.
  filled.flags = filled.flags + core.ILK_CLIENT_TICK
  local handle, msg, code = core.ilk_client_open(url, filled)
  if not handle then
    return nil, msg, code
  end
  local holds = setmetatable({}, { __mode = "v" })
  return setmetatable({ _handle = handle, _holds = holds, _ops = {} }, meta)
end

return client
