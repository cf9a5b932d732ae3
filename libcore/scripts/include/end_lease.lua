-- SPDX-License-Identifier: MIT
-- The end of a reservation. `settlement` is settlement.lua's.
--@include flight_fields

-- Remove a reservation when all of its messages are settled.
local function end_lease(leases, flight, settlement)
  if settlement.count == 0 then
    return
  end
  if settlement.from > 1 or settlement.to < settlement.count then
    local left = redis.call("HMGET", flight, unpack(flight_fields(settlement.token, 1, settlement.count)))
    for i = 1, settlement.count do
      if left[i] then
        return
      end
    end
  end
  redis.call("ZREM", leases, settlement.token)
end
