-- SPDX-License-Identifier: MIT
-- The worker: takes messages, calls a function for each, and settles them.

local core = require "interlock.core"
local args = require "interlock.args"
local job = require "interlock.job"
local options = require "interlock.options"
local queue = require "interlock.queue"
local wait = require "interlock.wait"

---@class interlock.Worker
---@field done integer messages that were done
---@field failed integer messages that failed, to be delivered again or dead
local Worker = {}

local meta = { __index = Worker }

---@class interlock.WorkerOptions
---@field lease_ms number? the lease of its messages; renewed; default 30000
---@field backoff_ms number? pause after the first failure; default 1000
---@field backoff_max_ms number? the longest pause; default 10 minutes
---@field batch integer? messages reserved and settled together; default 1
---@field queue interlock.QueueOptions? order, max_attempts

local rules = {
  lease_ms = { "duration" },
  backoff_ms = { "duration" },
  backoff_max_ms = { "duration" },
  batch = { "number" },
}

--- Settle the last message and take the next one.
---@param timeout_ms number? milliseconds; 0 tries once, nil waits for ever
---@return interlock.Job? job
---@return string? msg
---@return integer? code ILK_ECANCELLED after stop()
function Worker:next(timeout_ms)
  local ms = args.timeout("timeout_ms", timeout_ms)
  return job.wrap(self,
    wait.by(self._handle, ms, core.ilk_worker_next, core.ilk_worker_leave))
end

--- Settle the message as done; the next request carries that.
---@return true? ok
---@return string? msg
---@return integer? code
function Worker:succeed()
  return core.ilk_worker_done(self._handle)
end

--- Settle the message as failed: it is delivered again after a pause, or dead.
---@param reason string?
---@return true? ok
---@return string? msg
---@return integer? code
function Worker:fail(reason)
  args.optional_bytes("reason", reason)
  return core.ilk_worker_failed(self._handle, reason)
end

--- Move the message to the dead ones, because no worker can handle it.
---@param reason string?
---@return true? ok
---@return string? msg
---@return integer? code
function Worker:bury(reason)
  args.optional_bytes("reason", reason)
  return core.ilk_worker_bury(self._handle, reason)
end

--- Send the remaining settlements, and give back messages that were not begun.
---@return true? ok
---@return string? msg
---@return integer? code
function Worker:finish()
  return core.ilk_worker_finish(self._handle)
end

--- End the loop; also from inside the function that it calls.
---@return true? ok
---@return string? msg
---@return integer? code
function Worker:stop()
  return core.ilk_worker_stop(self._handle)
end

--- How many messages had lost their lease when their result was sent.
---@return integer
function Worker:lost()
  return core.ilk_worker_lost(self._handle)
end

local function one(self, fn, found)
  local ran, problem = pcall(fn, found)
  if ran then
    self.done = self.done + 1
    return self:succeed()
  end
  self.failed = self.failed + 1
  return self:fail(tostring(problem))
end

--- Call a function for each message until stop(). When it raises an error, the
--- message is delivered again, later each time.
---@param fn fun(job: interlock.Job)
---@param timeout_ms number? end when no message comes for so long; nil never
---@return integer? done how many messages were done

---@return string? msg
---@return integer? code
function Worker:run(fn, timeout_ms)
  args.callable("fn", fn)
  local before = self.done
  local found, msg, code = self:next(timeout_ms)
  while found do
    one(self, fn, found)
    found, msg, code = self:next(timeout_ms)
  end
  local ok, why, kind = self:finish()
  if code ~= core.ILK_ECANCELLED and code ~= core.ILK_ETIMEOUT
    and code ~= core.ILK_EBUSY then
    return nil, msg, code
  elseif not ok and kind ~= core.ILK_ELOST then
    return nil, why, kind
  end
  return self.done - before
end

local worker = {}

--- Make a worker; nothing is sent. client:worker(names, opts)
---@param client interlock.Client
---@param names string[] queues in order of priority
---@param opts interlock.WorkerOptions?
---@return interlock.Worker? worker
---@return string? msg
---@return integer? code
function worker.open(client, names, opts)
  args.names("names", names)
  local rest = {}
  for key, value in pairs(opts or {}) do
    rest[key] = value
  end
  rest.queue = nil
  local record = options.fill(core.ilk_worker_opts_init(), rules, rest)
  local of_queue = options.fill(core.ilk_queue_opts_init(), queue.rules,
    opts and opts.queue)
  local handle, msg, code =
    core.ilk_worker_open(client._handle, names, of_queue, record)
  if code == core.ILK_EINVAL then
    error(msg, 2)
  elseif not handle then
    return nil, msg, code
  end
  local made = { done = 0, failed = 0, _handle = handle, _ops = client._ops }
  return setmetatable(made, meta)
end

return worker
