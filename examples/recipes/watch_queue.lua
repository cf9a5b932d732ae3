-- SPDX-License-Identifier: MIT
-- A worker for tasks of several names.
--
--   lua watch_queue.lua chores              works until a task says quit
--
-- and in another terminal
--
--   lua fifo_queue.lua push chores '["greet", ["Anna"]]'
--   lua fifo_queue.lua push chores '["add", ["19", "23"]]' '["quit", []]'
--
-- A task of an unknown name, or that is no JSON, goes to
-- `ilk:recipes:dead:{chores}`. When a worker is killed, another does its task.

local interlock = require "interlock"
local recipes = require "interlock.recipes"

local over = false
local callbacks = {}

function callbacks.greet(who)
  print("hello " .. who)
end

function callbacks.add(...)
  local sum = 0
  for _, number in ipairs({ ... }) do
    sum = sum + tonumber(number)
  end
  print(sum)
end

function callbacks.quit()
  over = true
end

-- A JSON library does this for strings with quotes and other values.
local function decode(packed)
  local name, list = packed:match('^%["([^"]*)", *%[(.*)%]%]$')
  local values = {}
  for value in assert(list, "no task"):gmatch('"([^"]*)"') do
    values[#values + 1] = value
  end
  return name, values
end

io.stdout:setvbuf("line")
local client = assert(interlock.connect())
assert(recipes.worker_watch_queue(client, arg[1], callbacks, decode,
  function() return over end))
client:close()
