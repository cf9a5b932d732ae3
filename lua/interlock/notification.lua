-- SPDX-License-Identifier: MIT
-- News of a client: one pollable descriptor and a bounded queue.

local core = require "interlock.core"
local constants = require "interlock.constants"

local kinds = constants.names("ILK_NOTIFICATION_")

---@class interlock.Notification
---@field kind "lock_lost"|"semaphore_lost"|"leadership_lost"|"leadership_won"|"done"
---@field status string the name of the status that goes with it
---@field id integer the number of the lock, candidate or operation
---@field lock interlock.Hold? that itself, while the program keeps it
---@field op interlock.Op? the operation that is done

---@class interlock.Notifications
---@field fd integer readable when there is news; do not read or close it
local Notifications = {}

local meta = { __index = Notifications }

--- Fetch the next notification. Of a lock it is a hint, lock:check() is the
--- truth; of an operation that was started one tells that it is done, see
--- op.lua.
---
--- `for notification in notifications.next, notifications do` fetches all there
--- are.
---@return interlock.Notification? notification nil alone when there is none
---@return string? msg
---@return integer? code
function Notifications:next()
  local notification, msg, code = core.ilk_client_next_notification(self._client._handle)
  if code == core.ILK_EAGAIN then
    return nil
  elseif not notification then
    return nil, msg, code
  end
  local id, ops = notification.id, self._client._ops
  local done = ops[id]
  ops[id] = nil
  if notification.kind == core.ILK_NOTIFICATION_DONE and not done then
    return self:next() -- it was closed
  end
  return {
    kind = kinds[notification.kind],
    status = constants.status[notification.status],
    id = id,
    lock = self._client._holds[id],
    op = done,
  }
end

local notification = {}

--- The client's news. client:notifications()
---@param client interlock.Client
---@return interlock.Notifications? notifications
---@return string? msg
---@return integer? code
function notification.open(client)
  local fd, msg, code = core.ilk_client_notification_fd(client._handle)
  if not fd then
    return nil, msg, code
  end
  return setmetatable({ fd = fd, _client = client }, meta)
end

return notification
