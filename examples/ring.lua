-- SPDX-License-Identifier: MIT
-- Print the two caches that have each key.
--
--   lua ring.lua user:7 user:8         the same in every language, at any time

local interlock = require "interlock"

local ring = assert(interlock.ring { "cache1", "cache2", "cache3" })

for i = 1, #arg do
  print(arg[i] .. " " .. table.concat(assert(ring:get_n(arg[i], 2)), " "))
end
