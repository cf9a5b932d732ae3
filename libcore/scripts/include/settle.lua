-- SPDX-License-Identifier: MIT
-- Carrying out settlements of every kind, as parsed by settlement.lua.
--@include ack
--@include nack

-- Returns a text of numbers: for each settlement how many of its messages were
-- still in flight.
local function settle(settlements, order, most, now_ms, liveness)
  local done = {}
  for i, settlement in ipairs(settlements) do
    if settlement.kind == "a" then
      done[i] = acknowledge(KEYS[settlement.at + LEASES], KEYS[settlement.at + FLIGHT], settlement)
    else
      done[i] = nack(settlement, order, most, now_ms, liveness)
    end
  end
  return table.concat(done, " ")
end
