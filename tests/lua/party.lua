-- SPDX-License-Identifier: MIT
-- A Lua program of its own that waits for something, as specs need them.

local support = require "support"

local party = {}
party.__index = party

local head = [[
local interlock = require "interlock"
local client = assert(interlock.connect(arg[1]))
]]

--- Run a program beside this one: `client` is open, arg[2] and further are
--- the words given. Its output is read by finish().
function party.start(server, program, ...)
  party.count = (party.count or 0) + 1
  local self = setmetatable({
    server = server,
    base = ("%s/party%d"):format(server.dir, party.count),
  }, party)
  local file = assert(io.open(self.base .. ".lua", "w"))
  file:write(head, program, "\n")
  file:close()
  os.execute(([[
    { sh -c 'echo $$ >%s.pid; exec %s %s.lua %s %s' >%s.out 2>&1
      echo >%s.done; } &]]):format(self.base, support.interpreter(),
    self.base, server.url, table.concat({ ... }, " "), self.base, self.base))
  return self
end

--- Wait until so many stand in the line of this kind and name.
function party:stands_in(kind, name, count)
  support.await(10000, function()
    local key = ("ilk:%s:wait:{%s}"):format(kind, name)
    return self.server:command("ZCARD", key) == tostring(count)
  end)
end

function party:interrupt()
  os.execute("kill -INT $(cat " .. self.base .. ".pid)")
end

--- Its output, less the last newline; it has ended.
function party:finish()
  support.await(10000, function()
    local done = io.open(self.base .. ".done")
    return done and done:close()
  end)
  local out = assert(io.open(self.base .. ".out"))
  local printed = out:read("*a")
  out:close()
  return (printed:gsub("\n$", ""))
end

return party
