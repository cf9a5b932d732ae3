-- SPDX-License-Identifier: MIT
-- An event stays set: a late wait returns at once.
--
--   lua event.lua                 in some terminals: waits until it is set
--   lua event.lua "version 7"     in another: sets it, with data

local interlock = require "interlock"

local client = assert(interlock.connect())
local ready = assert(client:event("ready"))

if arg[1] then
  assert(ready:set(arg[1]))
else
  assert(ready:wait())
  print(ready.data)
end
client:close()
