-- SPDX-License-Identifier: MIT
-- Locks that many processes share through one Redis or Valkey server.
--
--     local interlock = require "interlock"
--     local client = assert(interlock.connect(url))
--     local lock = client:lock("orders", { ttl_ms = 10000 })
--     assert(lock:with(function(held) write(held.fence) end, 5000))
--
-- A function that fails returns nil, message, code; interlock.status names the codes.
-- A wrong argument is an error in the line that passed it. Fences are
-- integers where Lua has them; Lua 5.1 and LuaJIT print them with "%d".

local core = require "interlock.core"
local client = require "interlock.client"
local constants = require "interlock.constants"
local guard = require "interlock.guard"
local recipes = require "interlock.recipes"
local ring = require "interlock.ring"
local server = require "interlock.server"
local signal = require "interlock.signal"

---@class interlock
return {
  connect = client.connect,
  guard = guard.open,
  recipes = recipes,
  ring = ring.new,
  server = server,
  status = constants.status,
  strerror = core.ilk_strerror,
  version = core.ilk_version(),
  wait_all = signal.wait_all,
  wait_all_start = signal.wait_all_start,
  wait_any = signal.wait_any,
  wait_any_start = signal.wait_any_start,
}
