-- SPDX-License-Identifier: MIT
-- store_main.lua -- store.lua for another program, by a pair of pipes.
--
--     lua5.1 store_main.lua STORE
--
-- A request is an array of RESP: the time in microseconds since 1970 and a
-- command. The answer is {"reply", WIRE}. Before it, {"publish", CHANNEL,
-- MESSAGE}, {"subscribers", CHANNEL} and {"channels"} ask the other program, which
-- answers each with an array of strings.
local MOST_ARGUMENTS = 7000 -- Lua passes at most 8000 to a function
local now_us, compiled = 0, {}

local function read_strings()
  local head, strings = io.read("*l"), {}
  if not head then
    os.exit()
  end
  for i = 1, tonumber(string.match(head, "%d+")) do
    strings[i] = io.read(tonumber(string.match(io.read("*l"), "%d+")))
    io.read(2)
  end
  return strings
end

local function write(...)
  io.write(wire_of({ ... }))
  io.flush()
end

local function call_out(...)
  write(...)
  return read_strings()
end

function clock_us()
  return now_us
end

function publish(channel, message)
  return tonumber(call_out("publish", channel, message)[1])
end

function subscribers(channel)
  return tonumber(call_out("subscribers", channel)[1])
end

function channels()
  return call_out("channels")
end

dofile(arg[1])

-- EVAL, with more arguments than Lua can pass to a function.
local function eval(request)
  local text, keys, arguments = request[2], {}, {}
  for i = 1, tonumber(request[3]) do
    keys[i] = request[3 + i]
  end
  for i = 4 + #keys, #request do
    arguments[#arguments + 1] = request[i]
  end
  compiled[text] = compiled[text] or assert(loadstring(text, "@user_script"))
  return run_script(compiled[text], keys, arguments)
end

while true do
  local request = read_strings()
  now_us = tonumber(table.remove(request, 1))
  if request[1] == "EVAL" then
    write("reply", wire_of(eval(request)))
  elseif #request > MOST_ARGUMENTS then
    write("reply", "-ERR unknown command with so many arguments\r\n")
  else
    write("reply", wire_of(run_command(unpack(request))))
  end
end
