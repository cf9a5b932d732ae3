-- SPDX-License-Identifier: MIT
-- Two at a time; the third waits until one leaves.
--
--   lua semaphore.lua          in three terminals; Enter leaves

local interlock = require "interlock"

local client = assert(interlock.connect())

assert(client:semaphore("printers", 2):with(function(permit)
  print(("fence %d"):format(permit.fence))
  io.stdout:flush()
  io.read()
end))
client:close()
