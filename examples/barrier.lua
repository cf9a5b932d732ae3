-- SPDX-License-Identifier: MIT
-- Nobody goes on before all three are here.
--
--   lua barrier.lua            in three terminals

local interlock = require "interlock"

local client = assert(interlock.connect())
local phase = assert(client:barrier("phase", 3))

print(("arrived as number %d"):format(assert(phase:wait())))
client:close()
