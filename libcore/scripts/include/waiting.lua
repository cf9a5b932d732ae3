-- SPDX-License-Identifier: MIT
-- The entries of a wait queue, as an inspection lists them.

-- A ticket below this is no time: an earlier version's first ticket was 1.
local FIRST_TIME = 1e15

-- How many ms ago a ticket was given, by the same clock; -1: not known.
local function waited_ms(ticket, now)
  ticket = tonumber(ticket)
  return ticket >= FIRST_TIME and math.floor(math.max(0, now - ticket) / 1000) or -1
end

-- Append up to count entries in order, each followed by the ms that it has waited.
local function add_waiting(reply, wait, count, now)
  local found = count > 0 and redis.call("ZRANGE", wait, 0, count - 1, "WITHSCORES") or {}
  for i = 1, #found, 2 do
    reply[#reply + 1], reply[#reply + 2] = found[i], waited_ms(found[i + 1], now)
  end
  return reply
end
