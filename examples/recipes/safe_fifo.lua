-- SPDX-License-Identifier: MIT
-- A queue whose messages lie in a second list until they are handled.
--
--   lua safe_fifo.lua push letters a b
--   lua safe_fifo.lua pop letters anna      handles one; kill it meanwhile
--   lua safe_fifo.lua restore letters anna  puts its messages back: 1
--   lua safe_fifo.lua pop letters ben       in another terminal: the same again
--
-- Each consumer has a list of its own, here anna and ben.

local interlock = require "interlock"
local recipes = require "interlock.recipes"

local function handle(msg)
  print(msg)
  io.stdout:flush()
  io.read() -- until Enter is pressed
end

local verb, q = arg[1], arg[2]
local client = assert(interlock.connect())
local r = recipes.bind(client)

if verb == "push" then
  for i = 3, #arg do
    assert(r:safe_fifo_push(q, arg[i]))
  end
elseif verb == "pop" then
  local msg, why = r:safe_fifo_pop(q, arg[3], handle)
  assert(msg ~= nil, why)
  print(msg and "handled" or "empty")
else
  print(assert(r:safe_fifo_restore(q, arg[3])))
end
client:close()
