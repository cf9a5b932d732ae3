-- SPDX-License-Identifier: MIT
-- A message that was reserved from a queue, until it is finished.

local core = require "interlock.core"
local args = require "interlock.args"
local op = require "interlock.op"

---@class interlock.Job
---@field data string the message, any bytes
---@field id integer its number, as its push returned it
---@field token string of this delivery, for queue:adopt(); "" when not reserved
---@field attempts integer the number of this delivery: 1 for the first
---@field queue string the name of the queue it was taken from
---@field pushed_ms integer ms since 1970 by the server's clock
---@field reason string why it is dead, if it was read from the dead; else ""
local Job = {}

local getters = {
  data = core.ilk_job_data,
  id = core.ilk_job_id,
  token = core.ilk_job_token,
  attempts = core.ilk_job_attempts,
  queue = core.ilk_job_queue,
  pushed_ms = core.ilk_job_pushed_ms,
  reason = core.ilk_job_reason,
}

local meta = {}

function meta.__index(self, key)
  local getter = getters[key]
  if getter then
    return getter(self._handle)
  end
  return Job[key]
end

function meta.__tostring(self)
  local text = "message %d of %s, attempt %d, %d bytes"
  return text:format(self.id, self.queue, self.attempts, #self.data)
end

--- Milliseconds for which the lease lasts for sure, by the local clock.
---@return integer # 0 when it is finished or not sure any more
function Job:remaining_ms()
  return core.ilk_job_remaining_ms(self._handle)
end

--- Acknowledge the message as done.
---@return true? ok
---@return string? msg
---@return integer? code ILK_ELOST: the lease was lost
function Job:ack()
  return core.ilk_job_ack(self._handle)
end

--- Start ack().
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Job:ack_start()
  return op.wrap(self, op.ok, core.ilk_job_ack_start(self._handle))
end

--- Give the message back, for delivery at once or later; after its last attempt
--- it becomes dead instead.
---@param delay_ms number? milliseconds; nil and 0 for at once
---@return true? ok
---@return string? msg
---@return integer? code
function Job:nack(delay_ms)
  local ms = args.timeout("delay_ms", delay_ms or 0)
  return core.ilk_job_nack(self._handle, ms)
end

--- Start nack().
---@param delay_ms number? as for nack
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Job:nack_start(delay_ms)
  local ms = args.timeout("delay_ms", delay_ms or 0)
  return op.wrap(self, op.ok, core.ilk_job_nack_start(self._handle, ms))
end

--- Move the message to the dead ones, whatever its attempts.
---@param reason string? that its `reason` will show
---@return true? ok
---@return string? msg
---@return integer? code
function Job:bury(reason)
  args.optional_bytes("reason", reason)
  return core.ilk_job_bury(self._handle, reason)
end

--- Start bury().
---@param reason string? as for bury
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Job:bury_start(reason)
  args.optional_bytes("reason", reason)
  return op.wrap(self, op.ok, core.ilk_job_bury_start(self._handle, reason))
end

--- Set the remaining lease of all messages that were reserved together.
---@param lease_ms number? milliseconds; nil for the lease they were reserved with
---@return true? ok
---@return string? msg
---@return integer? code
function Job:extend(lease_ms)
  local ms = args.duration("lease_ms", lease_ms)
  return core.ilk_job_extend(self._handle, ms)
end

--- Start extend().
---@param lease_ms number? as for extend
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Job:extend_start(lease_ms)
  local ms = args.duration("lease_ms", lease_ms)
  return op.wrap(self, op.ok, core.ilk_job_extend_start(self._handle, ms))
end

-- `local job <close> = ...` gives the message back, unless it is finished.
function meta.__close(self)
  core.ilk_job_nack(self._handle, 0)
end

local job = {}

--- Make an object of the job that the generated module returned.
---@param owner table the queue or the worker that the job belongs to
---@param handle userdata?
---@return interlock.Job? job
---@return string? msg
---@return integer? code
function job.wrap(owner, handle, msg, code)
  if not handle then
    return nil, msg, code
  end
  return setmetatable({ _handle = handle, _ops = owner._ops }, meta)
end

---@class interlock.Batch: { [integer]: interlock.Job }
local Batch = {}

local batch_meta = { __index = Batch }

--- Acknowledge all messages that are not finished, in one round trip.
---@return true? ok
---@return string? msg
---@return integer? code ILK_ELOST: the lease of some was lost
function Batch:ack()
  return core.ilk_batch_ack(self._handle)
end

--- Start ack().
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Batch:ack_start()
  return op.wrap(self, op.ok, core.ilk_batch_ack_start(self._handle))
end

--- How many messages had lost their lease when they were to be finished.
---@return integer
function Batch:lost()
  return core.ilk_batch_lost(self._handle)
end

--- Make a list of jobs of a batch of the generated module.
---@param owner table the queue that the batch belongs to
---@param handle userdata?
---@return interlock.Batch? batch
---@return string? msg
---@return integer? code
function job.batch(owner, handle, msg, code)
  if not handle then
    return nil, msg, code
  end
  local made = { _handle = handle, _ops = owner._ops }
  for i = 1, core.ilk_batch_count(handle) do
    made[i] = job.wrap(owner, assert(core.ilk_batch_job(handle, i - 1)))
  end
  return setmetatable(made, batch_meta)
end

--- Return the function that reads a job from an operation.
---@param owner table
---@return fun(handle: userdata): interlock.Job?, string?, integer?
function job.reader(owner)
  return function(handle)
    local batch = core.ilk_op_batch(handle)
    return job.wrap(owner, core.ilk_batch_job(batch, 0))
  end
end

--- Return the function that reads a batch, which belongs to the operation.
---@param owner table
---@return fun(handle: userdata, lender: interlock.Op): interlock.Batch
function job.batch_reader(owner)
  return function(handle, lender)
    local made = job.batch(owner, core.ilk_op_batch(handle))
    made._lender = lender:_lend()
    return made
  end
end

return job
