-- SPDX-License-Identifier: MIT
-- Acknowledging messages.
--@include end_lease

-- Returns how many were still in flight.
local function acknowledge(leases, flight, settlement)
  local done
  if settlement.from == settlement.to then
    done = redis.call("HDEL", flight, settlement.token .. ":" .. settlement.from)
  else
    done = redis.call("HDEL", flight, unpack(flight_fields(settlement.token, settlement.from, settlement.to)))
  end
  end_lease(leases, flight, settlement)
  return done
end
