-- SPDX-License-Identifier: MIT
-- One of those who wait is chosen, and gets the signal.
--
--   lua unicast.lua wait work anna          in a terminal
--   lua unicast.lua wait work ben           in another
--   lua unicast.lua signal work hello       in a third: 1, or 0 if nobody waits
--
-- Each waiter has an id of its own, here anna and ben.

local interlock = require "interlock"
local recipes = require "interlock.recipes"

local verb, channel, word = arg[1], arg[2], arg[3]
local client = assert(interlock.connect())
local r = recipes.bind(client)

if verb == "wait" then
  print(word .. " hears " .. assert(r:wait_single(channel, word)).data)
else
  print(assert(r:signal_single(channel, word)))
end
client:close()
