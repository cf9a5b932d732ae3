-- SPDX-License-Identifier: MIT
-- All who wait for a channel get the signals sent to it.
--
--   lua broadcast.lua wait news             in some terminals
--   lua broadcast.lua signal news hello     in another: how many got it
--
-- A signal is momentary: only those who wait get it.

local interlock = require "interlock"
local recipes = require "interlock.recipes"

local verb, channel, data = arg[1], arg[2], arg[3]
local client = assert(interlock.connect())
local r = recipes.bind(client)

if verb == "wait" then
  print(assert(r:wait(channel)).data)
else
  print(assert(r:signal_broadcast(channel, data)))
end
client:close()
