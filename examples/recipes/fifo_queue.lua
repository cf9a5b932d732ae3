-- SPDX-License-Identifier: MIT
-- Tasks in the order in which they were pushed.
--
--   lua fifo_queue.lua push chores sweep dust
--   lua fifo_queue.lua pop chores           in another terminal: sweep
--
-- A process that dies with its task takes it along: see watch_queue.lua.

local interlock = require "interlock"
local recipes = require "interlock.recipes"

local verb, queue = arg[1], arg[2]
local client = assert(interlock.connect())

if verb == "push" then
  for i = 3, #arg do
    assert(recipes.fifo_queue_push(client, queue, arg[i]))
  end
else
  local task, msg = recipes.fifo_queue_pop(client, queue)
  assert(task ~= nil, msg)
  print(task or "empty")
end
client:close()
