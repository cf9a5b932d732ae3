-- SPDX-License-Identifier: MIT
-- What specs of started operations share: a loop until one has ended.

local support = require "support"

local started = {}

--- Fetch events until one tells of this operation; that event.
function started.finish(events, op)
  local found
  support.await(10000, function()
    for event in events.next, events do
      if event.id == op.id then
        found = event
      end
    end
    return found
  end)
  return found
end

--- What an operation answers when it has ended; its event may have been
--- fetched while another one was waited for.
function started.answer(events, op, ...)
  if not assert(op, ...).done then
    started.finish(events, op)
  end
  return op:result()
end

return started
