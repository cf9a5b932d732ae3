-- SPDX-License-Identifier: MIT
-- News of a client: one pollable descriptor and a bounded queue.

local core = require "interlock.core"
local constants = require "interlock.constants"

local kinds = constants.names("ILK_EVENT_")

---@class interlock.Event
---@field kind "lock_lost"|"semaphore_lost"|"leadership_lost"|"leadership_won"|"done"
---@field status string the name of the status that goes with it
---@field id integer the number of the lock, candidate or operation
---@field lock interlock.Hold? that itself, while the program keeps it
---@field op interlock.Op? the operation that is done

---@class interlock.Events
---@field fd integer readable when there is news; do not read or close it
local Events = {}

local meta = { __index = Events }

--- Fetch the next event. Of a lock it is a hint, lock:check() is the truth;
--- of an operation that was started one tells that it is done, see op.lua.
---
--- `for event in events.next, events do` fetches all there are.
---@return interlock.Event? event nil alone when there is none
---@return string? msg
---@return integer? code
function Events:next()
  local event, msg, code = core.ilk_client_next_event(self._client._handle)
  if code == core.ILK_EAGAIN then
    return nil
  elseif not event then
    return nil, msg, code
  end
  local id, ops = event.id, self._client._ops
  local done = ops[id]
  ops[id] = nil
  if event.kind == core.ILK_EVENT_DONE and not done then
    return self:next() -- it was closed
  end
  return {
    kind = kinds[event.kind],
    status = constants.status[event.status],
    id = id,
    lock = self._client._holds[id],
    op = done,
  }
end

local event = {}

--- The client's news. client:events()
---@param client interlock.Client
---@return interlock.Events? events
---@return string? msg
---@return integer? code
function event.open(client)
  local fd, msg, code = core.ilk_client_event_fd(client._handle)
  if not fd then
    return nil, msg, code
  end
  return setmetatable({ fd = fd, _client = client }, meta)
end

return event
