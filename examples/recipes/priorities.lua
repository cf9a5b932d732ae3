-- SPDX-License-Identifier: MIT
-- Three queues, the most urgent first.
--
--   lua priorities.lua pop 30               until none comes for 30 seconds
--   lua priorities.lua push low sweep       in another terminal
--   lua priorities.lua push high extinguish
--
-- The next task is always from the first queue that has one.

local interlock = require "interlock"
local recipes = require "interlock.recipes"

local QUEUES = { "queue:high", "queue:medium", "queue:low" }

io.stdout:setvbuf("line")
local verb, word, given = arg[1], arg[2], arg[3]
local client = assert(interlock.connect())

if verb == "push" then
  assert(recipes.fifo_queue_push(client, "queue:" .. word, given))
else
  local consumer = assert(recipes.consumer(client, QUEUES))
  local timeout_ms = tonumber(word) * 1000
  local queue, task = consumer:pop(timeout_ms)
  while queue do
    print(queue .. " " .. task)
    consumer:done()
    queue, task = consumer:pop(timeout_ms)
  end
  assert(queue == false, task)
  assert(consumer:leave())
end
client:close()
