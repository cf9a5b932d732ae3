-- SPDX-License-Identifier: MIT
-- A delivery ends in another way than that the message is done.
--@include end_lease
--@include give_back
--@include wake_up

-- A message's new place comes before its old one is left, and a server that
-- refuses the new one (no memory) changes nothing: -1.
local function end_otherwise(item, order, most, now_ms, liveness)
  local ok, found, ready = pcall(give_back_all, item.at, item.token, item.from, item.to,
    { order = order, most = most, now_ms = now_ms, verb = item.verb, delay = item.delay,
      reason = item.reason })
  if not ok then
    return -1
  end
  end_lease(KEYS[item.at + LEASES], KEYS[item.at + FLIGHT], item)
  tally(item.at, "returned", item.verb == "n" and found or 0)
  if ready > 0 then
    wake_up(item.at, ready, now_ms, liveness)
  end
  return found
end
