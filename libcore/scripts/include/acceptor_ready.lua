-- SPDX-License-Identifier: MIT
-- Whether a node keeps the registers of this list, in this edition; see acceptor.lua.

local function is_ready(acceptor, list)
  return redis.call("GET", acceptor) == "ready " .. list
end
