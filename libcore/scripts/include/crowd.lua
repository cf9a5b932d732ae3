-- SPDX-License-Identifier: MIT
-- The clients whose waiters are in the list of a signal: crowd is a hash
-- `2 <client>` -> `<number of its entries> <secret>`, and `ticket`, the last ticket
-- of a list that was emptied. Its fields begin with the version of the entries that
-- they count, so each version finds its own.

local function crowd_field(client)
  return "2 " .. client
end

-- Returns the number of the client's entries, and the secret that a signal to its
-- waiters in this list must repeat.
local function in_crowd(crowd, client)
  local count, secret = string.match(redis.call("HGET", crowd, crowd_field(client)) or "", "^(%d+) (%S+)$")
  return tonumber(count) or 0, secret
end
