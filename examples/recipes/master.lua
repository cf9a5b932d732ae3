-- SPDX-License-Identifier: MIT
-- One of several processes is the master, and stays it while it is well.
--
--   lua master.lua             in some terminals; kill the one that leads
--   lua master.lua 0.5         tries every half second instead of every 5
--
-- A tenure is 20 seconds. A master that worked for longer gives the office up
-- before it asks again, for it may have a successor already.

local interlock = require "interlock"
local recipes = require "interlock.recipes"

local TENURE = 20
local every = tonumber(arg[1] or 5)
local r = recipes.bind(assert(interlock.connect()))
local role

io.stdout:setvbuf("line")
while true do
  local began, before = os.time(), role
  local leads, msg = r:master()
  assert(leads ~= nil, msg)
  role = leads and "master" or "waiting"
  if role ~= before then
    print(role)
  end
  os.execute("sleep " .. every) -- here a master does its work
  if os.time() - began >= TENURE then
    r.local_selector = 0
  end
end
