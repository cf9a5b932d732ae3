-- SPDX-License-Identifier: MIT
-- Queues: each message is delivered to one consumer, until it is done.

local core = require "interlock.core"
local args = require "interlock.args"
local constants = require "interlock.constants"
local job = require "interlock.job"
local op = require "interlock.op"
local options = require "interlock.options"
local wait = require "interlock.wait"

---@class interlock.Queue
---@field names string[]
local Queue = {}

local meta = { __index = Queue }

function meta.__tostring(self)
  return "queue " .. table.concat(self.names, ", ")
end

---@class interlock.QueueOptions
---@field order string? "fifo", the default, or "filo"
---@field max_attempts integer? deliveries until a message is dead; -1 no limit
---@field once_ms number? how long a request id is remembered; default 10 minutes
---@field renew boolean? renew the lease of reserved messages; default false

local orders = { [core.ILK_QUEUE_FIFO] = "fifo", [core.ILK_QUEUE_FILO] = "filo" }
local places = {
  ready = core.ILK_QUEUE_READY,
  delayed = core.ILK_QUEUE_DELAYED,
  dead = core.ILK_QUEUE_DEAD,
}
local ALL = places.ready + places.delayed + places.dead

local queue = {}

queue.rules = {
  order = { "choice", orders },
  max_attempts = { "number" },
  once_ms = { "duration" },
  renew = { "flag", core.ILK_QUEUE_RENEW, when = true },
}

---@class interlock.PushOptions
---@field delay_ms number? until the message can be taken
---@field once string? a request id: a push with a known one changes nothing

local function push_options(opts)
  local record = core.ilk_push_opts_init()
  for key, value in pairs(opts or {}) do
    if key == "delay_ms" then
      record.delay_ms = args.timeout("delay_ms", value)
    elseif key == "once" then
      record.once, record.once_len = args.bytes("once", value), #value
    else
      error(("unknown option %q; there are delay_ms, once"):format(tostring(key)), 3)
    end
  end
  return record
end

--- Push a message. A lost reply never duplicates it.
---@param data string any bytes, at most 1 MiB
---@param opts interlock.PushOptions?
---@return integer? id the message's number
---@return string? msg
---@return integer? code
function Queue:push(data, opts)
  args.bytes("data", data)
  return core.ilk_queue_push(self._handle, data, push_options(opts))
end

--- Start push().
---@param data string any bytes, at most 1 MiB
---@param opts interlock.PushOptions?
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Queue:push_start(data, opts)
  args.bytes("data", data)
  return op.wrap(self, op.number,
    core.ilk_queue_push_start(self._handle, data, push_options(opts)))
end

--- Push up to 256 messages: all or none, in order.
---@param messages string[]
---@param opts interlock.PushOptions?
---@return integer? first the first message's number, the others follow it
---@return string? msg
---@return integer? code
function Queue:push_many(messages, opts)
  args.names("messages", messages)
  return core.ilk_queue_push_many(self._handle, messages, push_options(opts))
end

--- Start push_many().
---@param messages string[]
---@param opts interlock.PushOptions?
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Queue:push_many_start(messages, opts)
  args.names("messages", messages)
  return op.wrap(self, op.number,
    core.ilk_queue_push_many_start(self._handle, messages, push_options(opts)))
end

--- Take the next message for good: it is delivered at most once.
---@param timeout_ms number? milliseconds; 0 tries once, nil waits for ever
---@return string? data
---@return string? msg
---@return integer? code ILK_EBUSY for 0, ILK_ETIMEOUT, ILK_EUNKNOWN and others
function Queue:pop(timeout_ms)
  local ms = args.timeout("timeout_ms", timeout_ms)
  local found, msg, code =
    wait.by(self._handle, ms, core.ilk_queue_pop, core.ilk_queue_leave)
  if not found then
    return nil, msg, code
  end
  return core.ilk_job_data(found)
end

--- Start pop(). Closing the operation while it runs may lose a message.
---@param timeout_ms number? as for pop
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Queue:pop_start(timeout_ms)
  local ms = args.timeout("timeout_ms", timeout_ms)
  return op.wrap(self, function(handle)
    return core.ilk_job_data(core.ilk_op_job(handle))
  end, core.ilk_queue_pop_start(self._handle, ms))
end

--- Reserve the next message under a lease.
---@param timeout_ms number? milliseconds; 0 tries once, nil waits for ever
---@param lease_ms number? the lease; default 30000
---@return interlock.Job? job
---@return string? msg
---@return integer? code ILK_EBUSY for 0, ILK_ETIMEOUT otherwise, and others
function Queue:reserve(timeout_ms, lease_ms)
  local ms = args.timeout("timeout_ms", timeout_ms)
  local lease = args.duration("lease_ms", lease_ms)
  local function call(handle, left)
    return core.ilk_queue_reserve(handle, left, lease)
  end
  return job.wrap(self, wait.by(self._handle, ms, call, core.ilk_queue_leave))
end

--- Start reserve(). An operation that is closed before its result was read gives
--- the message back, as if it had never been delivered.
---@param timeout_ms number? as for reserve
---@param lease_ms number? as for reserve
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Queue:reserve_start(timeout_ms, lease_ms)
  local ms = args.timeout("timeout_ms", timeout_ms)
  local lease = args.duration("lease_ms", lease_ms)
  return op.wrap(self, job.reader(self),
    core.ilk_queue_reserve_start(self._handle, ms, lease))
end

--- Reserve up to `count` messages under one lease, and acknowledge those of a
--- batch that was reserved before.
---@param count integer 1 to 256
---@param timeout_ms number? as for reserve; waits for the first only
---@param lease_ms number? default 30000
---@param done interlock.Batch? acknowledged even if there is no new message
---@return interlock.Batch? batch
---@return string? msg
---@return integer? code
function Queue:reserve_many(count, timeout_ms, lease_ms, done)
  args.fence("count", count)
  local ms = args.timeout("timeout_ms", timeout_ms)
  local lease = args.duration("lease_ms", lease_ms)
  local before = done and done._handle
  local function call(handle, left)
    return core.ilk_queue_reserve_many(handle, count, left, lease, before)
  end
  return job.batch(self, wait.by(self._handle, ms, call, core.ilk_queue_leave))
end

--- Start reserve_many(); when closed early it gives back, as reserve_start().
---@param count integer as for reserve_many, and the others
---@param timeout_ms number?
---@param lease_ms number?
---@param done interlock.Batch?
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Queue:reserve_many_start(count, timeout_ms, lease_ms, done)
  args.fence("count", count)
  local ms = args.timeout("timeout_ms", timeout_ms)
  local lease = args.duration("lease_ms", lease_ms)
  return op.wrap(self, job.batch_reader(self), core.ilk_queue_reserve_many_start(
    self._handle, count, ms, lease, done and done._handle))
end

--- Return the job of a message that another handle or process has reserved. It has
--- no data and is not renewed; its methods report whether the lease was lost.
---@param token string the token of the other job
---@return interlock.Job? job
---@return string? msg
---@return integer? code
function Queue:adopt(token)
  args.bytes("token", token)
  return job.wrap(self, core.ilk_job_adopt(self._handle, token))
end

--- Cancel the waits of this handle: they return ILK_ECANCELLED.
---@return true? ok
---@return string? msg
---@return integer? code
function Queue:cancel()
  return core.ilk_queue_cancel(self._handle)
end

--- Return how many messages can be taken now.
---@return integer? count
---@return string? msg
---@return integer? code
function Queue:size()
  return core.ilk_queue_size(self._handle)
end

--- Start size().
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Queue:size_start()
  return op.wrap(self, op.number, core.ilk_queue_size_start(self._handle))
end

local function to_info(found)
  local info = {}
  for number, name in pairs(constants.names("ILK_QUEUE_N_")) do
    info[name] = core.ilk_queue_info_get(found, number)
  end
  info.order = orders[info.order]
  return info
end

--- Return the state and the counters: ready, delayed, taken, dead,
--- waiting, pushed, finished, expired, returned, buried, purged, oldest_ms,
--- and order: "fifo", "filo", or nil when nobody has pushed yet.
---@return table<string, integer|string>? info
---@return string? msg
---@return integer? code
function Queue:inspect()
  local found, msg, code = core.ilk_queue_inspect(self._handle)
  if not found then
    return nil, msg, code
  end
  return to_info(found)
end

--- Start inspect().
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Queue:inspect_start()
  return op.wrap(self, function(handle)
    return to_info(core.ilk_op_queue_info(handle))
  end, core.ilk_queue_inspect_start(self._handle))
end

local function place(what)
  if not places[what] then
    local text = "where must be \"ready\", \"delayed\" or \"dead\", got %s"
    error(text:format(tostring(what)), 3)
  end
  return places[what]
end

--- Return messages without taking them.
---@param where string? "ready", the default, "delayed" or "dead"
---@param from integer? how many to skip
---@param count integer? at most; default 10
---@return interlock.Job[]? jobs
---@return string? msg
---@return integer? code
function Queue:peek(where, from, count)
  local at = place(where or "ready")
  return job.batch(self,
    core.ilk_queue_peek(self._handle, at, from or 0, count or 10))
end

--- Start peek().
---@param where string? as for peek, and the others
---@param from integer?
---@param count integer?
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Queue:peek_start(where, from, count)
  local at = place(where or "ready")
  return op.wrap(self, job.batch_reader(self),
    core.ilk_queue_peek_start(self._handle, at, from or 0, count or 10))
end

--- Remove the "ready", "delayed" or "dead" messages; by default all three.
---@param where string?
---@return integer? count
---@return string? msg
---@return integer? code
function Queue:purge(where)
  local at = where and place(where) or ALL
  return core.ilk_queue_purge(self._handle, at)
end

--- Start purge().
---@param where string? as for purge
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Queue:purge_start(where)
  local at = where and place(where) or ALL
  return op.wrap(self, op.number, core.ilk_queue_purge_start(self._handle, at))
end

--- Make dead messages ready again, behind all others, with no attempts.
---@param id integer? this one; nil for the oldest
---@param count integer? at most; nil for all
---@return integer? count
---@return string? msg
---@return integer? code
function Queue:requeue(id, count)
  return core.ilk_queue_requeue(self._handle, id or 0, count or 0)
end

--- Start requeue().
---@param id integer? as for requeue
---@param count integer?
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Queue:requeue_start(id, count)
  return op.wrap(self, op.number,
    core.ilk_queue_requeue_start(self._handle, id or 0, count or 0))
end

local function open(client, names, opts)
  local record = options.fill(core.ilk_queue_opts_init(), queue.rules, opts)
  local handle, msg, code =
    core.ilk_queue_open_many(client._handle, names, record)
  if code == core.ILK_EINVAL then
    error(msg, 3)
  elseif not handle then
    return nil, msg, code
  end
  local made = { names = args.copy(names), _handle = handle, _ops = client._ops }
  return setmetatable(made, meta)
end

--- Make a handle for a queue; nothing is sent. client:queue(name, opts)
---@param client interlock.Client
---@param name string 1 to 512 bytes, any bytes but a leading "ilk:"
---@param opts interlock.QueueOptions?
---@return interlock.Queue? queue
---@return string? msg
---@return integer? code
function queue.open(client, name, opts)
  args.bytes("name", name)
  local made, msg, code = open(client, { name }, opts)
  return made, msg, code
end

--- Make a handle that takes from several queues in order of priority.
--- client:queues(names, opts)
---@param client interlock.Client
---@param names string[] 1 to 64 names
---@param opts interlock.QueueOptions?
---@return interlock.Queue? queue
---@return string? msg
---@return integer? code
function queue.open_many(client, names, opts)
  args.names("names", names)
  local made, msg, code = open(client, names, opts)
  return made, msg, code
end

return queue
