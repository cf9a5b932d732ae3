-- SPDX-License-Identifier: MIT
-- News of a client: one pollable descriptor and a bounded queue.

local core = require "interlock.core"
local constants = require "interlock.constants"

local kinds = constants.names("ILK_EVENT_")

---@class interlock.Event
---@field kind "lock_lost"|"semaphore_lost"|"leadership_lost"|"leadership_won"
---@field status string the name of the status that goes with it
---@field id integer the number of the lock or candidate
---@field lock interlock.Hold? that itself, while the program keeps it

---@class interlock.Events
---@field fd integer readable when there is news; do not read or close it
local Events = {}

local meta = { __index = Events }

--- Fetch the next event; a hint, lock:check() is the truth.
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
  return {
    kind = kinds[event.kind],
    status = constants.status[event.status],
    id = event.id,
    lock = self._client._holds[event.id],
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
