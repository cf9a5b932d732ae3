-- SPDX-License-Identifier: MIT
-- Wait until two parts are done, whoever does them.
--
--   lua latch.lua wait         in some terminals
--   lua latch.lua done         in another, twice: how many are left

local interlock = require "interlock"

local client = assert(interlock.connect())
local parts = assert(client:latch("parts", 2))

if arg[1] == "done" then
  print(assert(parts:count_down()))
else
  assert(parts:wait())
  print("all done")
end
client:close()
