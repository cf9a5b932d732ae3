-- SPDX-License-Identifier: MIT
-- A signal for one of those who wait, or for all of them.
--
--   lua signals.lua wait doors          in some terminals
--   lua signals.lua one doors open      in another: to the first waiter, 1 or 0
--   lua signals.lua all doors open      how many were reached
--
-- Only those who wait get it: see event.lua for an event that stays.

local interlock = require "interlock"

local verb, name, data = arg[1], arg[2], arg[3]
local client = assert(interlock.connect())
local doors = assert(client:signal(name))

if verb == "wait" then
  print((assert(doors:wait())))
elseif verb == "one" then
  print(assert(doors:notify_one(data)))
else
  print(assert(doors:notify_all(data)))
end
client:close()
