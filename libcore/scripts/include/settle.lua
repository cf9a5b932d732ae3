-- SPDX-License-Identifier: MIT
-- Settlements of every kind. They are as in settlement.lua.
--@include ack
--@include nack

-- Returns for each item how many were still in flight: a text of numbers.
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
