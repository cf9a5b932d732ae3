-- SPDX-License-Identifier: MIT
-- A lock on one node: a token to unlock with, and how long it is valid.
--
--   lua redlock.lua lock orders 30000       prints the token and the ms left
--   lua redlock.lua lock orders 30000       in another terminal: taken
--   lua redlock.lua unlock orders TOKEN     from anywhere
--
-- The key is the resource and its value the token, as SET NX PX leaves them, so
-- other programs that lock in this way see it.

local interlock = require "interlock"

-- The token and the milliseconds it is valid; nil when it is taken.
local function lock(client, resource, ttl_ms)
  local taken = client:lock(resource, { ttl_ms = ttl_ms, renew = false })
  local ok, msg, code = taken:acquire(0)
  if not ok then
    assert(code == interlock.status.ILK_EBUSY, msg)
    return nil
  end
  local validity = taken:remaining_ms()
  return assert(taken:detach()), validity
end

-- nil when it is no longer locked under this token.
local function unlock(client, resource, token)
  local heir = client:lock(resource)
  local ok, msg, code = heir:adopt(token)
  if ok then
    ok, msg, code = heir:release()
  end
  assert(ok or code == interlock.status.ILK_ELOST, msg)
  return ok
end

local verb, resource, word = arg[1], arg[2], arg[3]
local client = assert(interlock.connect())
if verb == "unlock" then
  print(unlock(client, resource, word) and "unlocked" or "lost")
else
  local token, validity = lock(client, resource, tonumber(word))
  print(token and token .. " " .. validity or "taken")
end
client:close()
