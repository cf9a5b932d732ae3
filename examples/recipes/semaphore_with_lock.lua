-- SPDX-License-Identifier: MIT
-- A few at a time, beside programs that insert under a lock.
--
--   lua semaphore_with_lock.lua seats 2     in some terminals
--
-- As fair_semaphore.lua, which needs no lock. This takes the lock `lock:seats`
-- first: programs that read and write a semaphore in several steps under that
-- lock stay out meanwhile. With 10 ms for the lock, "full" may also mean busy.

local interlock = require "interlock"
local recipes = require "interlock.recipes"

local semname, limit = arg[1], tonumber(arg[2])
local client = assert(interlock.connect())
local identifier, msg =
  recipes.acquire_semaphore_with_lock(client, semname, limit)

assert(identifier ~= nil, msg)
if not identifier then
  io.stderr:write("full\n")
  os.exit(1)
end
print("inside")
io.stdout:flush()
io.read()

local released = recipes.release_fair_semaphore(client, semname, identifier)
print("released " .. (released and 1 or 0))
client:close()
