-- SPDX-License-Identifier: MIT
-- The notifications of a client: one pollable descriptor and a bounded queue.

local core = require "interlock.core"
local constants = require "interlock.constants"
local kept_holds = require "interlock.kept_holds"

local kinds = constants.names("ILK_NOTIFICATION_")

---@class interlock.Notification
---@field kind "lock_lost"|"semaphore_lost"|"leadership_lost"|"leadership_won"|"member_lost"|"kept"
---  |"done"
---@field status string the name of its status
---@field id integer the number of the lock, candidate, member or operation
---@field lock interlock.Hold|interlock.Member? the handle itself, while the program keeps it
---@field op interlock.Op? the operation that is done
---@field cause "broken"|"expired"|"unreachable"|"deleted"|"wiped"|"ended"|"unknown"?
---  why a hold was lost
---@field text string? of a hold that was kept: which one
---@field token string? of a hold that was kept: what adopt() takes

---@class interlock.Notifications
---@field fd integer readable while there are notifications; do not read or close it
local Notifications = {}

local meta = { __index = Notifications }

--- Fetch the next notification. For a lock it is a hint, while lock:check() is
--- certain; for a started operation it reports the end, see op.lua.
---
--- It drives started operations, too: they advance while it is called.
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
    return self:next() -- the operation was closed
  end
  local kind = kinds[notification.kind]
  local text, token
  if notification.kind == core.ILK_NOTIFICATION_KEPT then
    text, token = kept_holds.describe(self._client, id)
  elseif kind:find("_lost$") then
    kept_holds.forget(self._client, id)
  end
  return {
    kind = kind,
    status = constants.status[notification.status],
    cause = notification.cause ~= 0 and core.ilk_loss_name(notification.cause) or nil,
    id = id,
    lock = self._client._holds[id],
    op = done,
    text = text,
    token = token,
  }
end

local notification = {}

--- Return the client's notifications. client:notifications()
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
