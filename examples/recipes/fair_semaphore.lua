-- SPDX-License-Identifier: MIT
-- A few at a time, in the order in which they came.
--
--   lua fair_semaphore.lua seats 2          in some terminals
--
-- With two inside, others print "full". Enter refreshes the permit, which
-- would run out after 10 seconds, and gives it back.

local interlock = require "interlock"
local recipes = require "interlock.recipes"

local semname, limit = arg[1], tonumber(arg[2])
local client = assert(interlock.connect())
local identifier, msg =
  recipes.acquire_fair_semaphore(client, semname, limit, 10000)

assert(identifier ~= nil, msg)
if not identifier then
  io.stderr:write("full\n")
  os.exit(1)
end
print("inside")
io.stdout:flush()
io.read()

local mine = recipes.refresh_fair_semaphore(client, semname, identifier)
print(mine and "mine" or "lost")
local released = recipes.release_fair_semaphore(client, semname, identifier)
print("released " .. (released and 1 or 0))
client:close()
