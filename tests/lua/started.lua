-- SPDX-License-Identifier: MIT
-- Shared by the specs of started operations: a loop until one has ended.

local support = require "support"

local started = {}

--- Fetch notifications until that of this operation; returns it.
function started.finish(notifications, op)
  local found
  support.await(10000, function()
    for notification in notifications.next, notifications do
      if notification.id == op.id then
        found = notification
      end
    end
    return found
  end)
  return found
end

--- The result of an operation that has ended; its notification may have been
--- fetched while another one was waited for.
function started.answer(notifications, op, ...)
  if not assert(op, ...).done then
    started.finish(notifications, op)
  end
  return op:result()
end

return started
