-- SPDX-License-Identifier: MIT
-- Shared by the specs: a server of their own, clients, raw commands, time.

local busted = require "busted"
local interlock = require "interlock"
local core = require "interlock.core"

local unpack = table.unpack or unpack

local support = {}

-- Run a shell command and answer what it printed, less the last newline.
local function output(command)
  local pipe = assert(io.popen(command, "r"))
  local text = pipe:read("*a")
  pipe:close()
  return (text:gsub("\n$", ""))
end

support.output = output

--- The interpreter that runs the specs, for programs of their own.
function support.interpreter()
  local first = 0
  while arg[first - 1] do
    first = first - 1
  end
  return arg[first]
end

function support.now_ms()
  return core.ilk_lua_clock_ms()
end

function support.sleep_ms(ms)
  os.execute(("sleep %.3f"):format(ms / 1000))
end

--- A bound on lateness, stretched for a machine that has more to do, or stalls.
function support.patience(ms)
  local factor = tonumber(os.getenv("ILK_TEST_PATIENCE")) or 1
  return ms * factor + (factor > 1 and 1000 or 0)
end

--- Ask until the answer is true; an error after so many milliseconds.
function support.await(ms, question)
  local deadline = support.now_ms() + support.patience(ms)
  while not question() do
    assert(support.now_ms() < deadline, "nothing happened in time")
    support.sleep_ms(5)
  end
end

--- Wait for a notification of a kind, and return it. Others are dropped: the collector
--- may find a hold of an earlier test at any time, of which a client then says "kept".
function support.await_notification(notifications, kind)
  local found
  support.await(3000, function()
    local notification = notifications:next()
    found = notification and notification.kind == kind and notification
    return found
  end)
  return found
end

--- A name that no other test has.
function support.name()
  support.count = (support.count or 0) + 1
  return ("spec-%s-%d"):format(tostring({}):gsub("%W", ""), support.count)
end

-- One argument as redis-cli reads it from a line: any byte.
local function quoted(word)
  return '"' .. word:gsub("[^%w]", function(byte)
    return ("\\x%02x"):format(byte:byte())
  end) .. '"'
end

local Server = {}
Server.__index = Server

--- Start a server on a private socket. It ends with stop(), or when this
--- process dies: its shell reads a pipe of ours to the end and then kills it.
function support.server()
  local dir = output("mktemp -d")
  local socket = dir .. "/socket"
  local program = os.getenv("ILK_TEST_SERVER") or "redis-server"
  local pipe = assert(io.popen(([[
    %s --port 0 --unixsocket %s --save "" --dir %s >%s/log 2>&1 &
    server=$!
    cat >/dev/null
    kill -9 $server
    wait $server 2>/dev/null
    rm -rf %s]]):format(program, socket, dir, dir, dir), "w"))
  local self = setmetatable({ dir = dir, _pipe = pipe }, Server)
  self._socket = socket
  self.url = "unix://" .. socket
  support.await(5000, function()
    return self:command("PING") == "PONG"
  end)
  return self
end

--- The store in memory of tests/gateway, of this process: the first client that is
--- opened begins to serve the socket. It has the faults that $ILK_MEMORY says.
local function memory_server(faults)
  local dir = output("mktemp -d")
  local self = setmetatable({ dir = dir, _socket = dir .. "/socket" }, Server)
  self.url = "memory://" .. self._socket .. (faults ~= "" and "?" .. faults or "")
  self._pipe = assert(io.popen(("cat >/dev/null; rm -rf %s"):format(dir), "w"))
  return self
end

-- One line of what redis-cli prints to a terminal, less the ornaments.
local function plain(line)
  line = line:gsub("^%s*%d+%) ", "")
  return line:match("^%(integer%) (.*)$") or line:match('^"(.*)"$') or line
end

--- Send one command; its answer as text, the elements of an array in lines.
function Server:command(...)
  local path = self.dir .. "/command"
  local words = { ... }
  for i = 1, #words do
    words[i] = quoted(tostring(words[i]))
  end
  local file = assert(io.open(path, "w"))
  file:write(table.concat(words, " "), "\n")
  file:close()
  local text = output(("redis-cli --no-raw -s %s < %s 2>&1")
    :format(self._socket, path))
  return (text:gsub("[^\n]+", plain))
end

function Server:stop()
  self._pipe:close()
end

--- For the body of a describe(): a server for its tests, and a client of it
--- for each table of options, one at least. All of them end with the block.
--- With $ILK_MEMORY it is the store in memory, with $ILK_CONFORMANCE_URL one that
--- runs already.
function support.served(...)
  local faults, url = os.getenv("ILK_MEMORY"), os.getenv("ILK_CONFORMANCE_URL")
  local server = url and { url = url, stop = function() end }
    or faults and memory_server(faults) or support.server()
  local clients = {}
  busted.teardown(function()
    for _, client in ipairs(clients) do
      client:close()
    end
    server:stop()
  end)
  local wanted = { ... }
  wanted[1] = wanted[1] or {}
  for i, opts in ipairs(wanted) do
    clients[i] = assert(interlock.connect(server.url, opts))
  end
  return server, unpack(clients)
end

return support
