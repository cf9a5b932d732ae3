-- SPDX-License-Identifier: MIT
-- A delivery ends in another way than that the message is done.
--@include end_lease
--@include return_message
--@include wake_consumers

-- A message's new place comes before its old one is left, and a server that
-- refuses the new one (no memory) changes nothing: -1.
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
