-- SPDX-License-Identifier: MIT
-- Tasks that are due later.
--
--   lua delayed_queue.lua push chores 5 water       in 5 seconds
--   lua delayed_queue.lua pop chores        in another terminal: a due task
--
-- However many pop at once, each task is for one of them. The clock is the
-- server's.

local interlock = require "interlock"
local recipes = require "interlock.recipes"

local verb, queue, seconds, task = arg[1], arg[2], arg[3], arg[4]
local client = assert(interlock.connect())

if verb == "push" then
  local delay_ms = tonumber(seconds) * 1000
  assert(recipes.delayed_queue_push(client, queue, task, delay_ms))
else
  for _, due in ipairs(assert(recipes.delayed_queue_pop(client, queue))) do
    print(due)
  end
end
client:close()
