-- SPDX-License-Identifier: MIT
-- Ending a delivery without acknowledging it.
--@include end_lease
--@include return_message
--@include wake_consumers

-- Writes a message's new place before it removes the old one. If the server
-- refuses the new place (no memory), nothing changes, and this returns -1.
local function nack(settlement, order, most, now_ms, liveness)
  local ok, found, ready = pcall(return_messages, settlement.at, settlement.token, settlement.from, settlement.to,
    { order = order, most = most, now_ms = now_ms, kind = settlement.kind, delay = settlement.delay,
      reason = settlement.reason })
  if not ok then
    return -1
  end
  end_lease(KEYS[settlement.at + LEASES], KEYS[settlement.at + FLIGHT], settlement)
  count_up(settlement.at, "returned", settlement.kind == "n" and found or 0)
  if ready > 0 then
    wake_consumers(settlement.at, ready, now_ms, liveness)
  end
  return found
end
