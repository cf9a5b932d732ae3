-- SPDX-License-Identifier: MIT
-- Which servers keep a store: one, or several, each with the keys that a ring gives it.
--@include number
--@include store

local place = { number = 0, count = 1, list = "" }

-- Reads the argument `<number of this server> <how many> <name of their list>`; without
-- one the store is on this server alone.
local function place_at(index)
  local text = ARGV[index] or ""
  local number, count, list = string.match(text, "^(%d+) (%d+) (%x+)$")
  if text == "" then
    return
  elseif not number or tonumber(number) >= tonumber(count) then
    misuse = misuse or redis.error_reply("ILKARG argument " .. index .. " must be a server's place")
    return
  end
  place.number, place.count, place.list = tonumber(number), tonumber(count), list
end

-- The error when other servers keep the store, or nil. A new store is kept by these.
local function differs(store)
  local field = redis.call("HMGET", store, "ring", "last")
  if (field[1] or "") == place.list then
    return nil
  elseif field[1] or field[2] then
    return redis.error_reply("ILKDIFFERS the store is kept by " ..
      (field[1] and "several servers: its URL names all of them, with ?ring" or "this server alone") ..
      ", not by those of this URL: " .. store)
  end
  redis.call("HSET", store, "ring", place.list)
  redis.call("PEXPIRE", store, 86400000) -- until a value is written
  return nil
end
