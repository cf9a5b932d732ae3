-- SPDX-License-Identifier: MIT
-- One lock from Lua 5.1, 5.4 or LuaJIT.

local interlock = require "interlock"

local client = assert(interlock.connect())
local lock = client:lock("orders", { ttl_ms = 10000 })

assert(lock:with(function(held)
  print(("fence %d"):format(held.fence))
end, 5000))

client:close()
