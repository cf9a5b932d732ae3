-- SPDX-License-Identifier: MIT
-- A list as a queue (first in, first out) or a stack (first in, last out).
--
--   lua fifo_filo.lua fifo_push letters a b c
--   lua fifo_filo.lua fifo_pop letters      in another terminal: a b c
--   lua fifo_filo.lua filo_push plates a b c
--   lua fifo_filo.lua filo_pop plates       c b a
--
-- Popping goes on until the list is empty.

local interlock = require "interlock"
local recipes = require "interlock.recipes"

local verb, q = arg[1], arg[2]
local client = assert(interlock.connect())
local r = recipes.bind(client)

local function pop()
  local value, msg = r[verb](r, q)
  assert(value ~= nil, msg)
  return value
end

if verb == "fifo_push" or verb == "filo_push" then
  for i = 3, #arg do
    assert(r[verb](r, q, arg[i]))
  end
else
  local value = pop()
  while value do
    print(value)
    value = pop()
  end
end
client:close()
