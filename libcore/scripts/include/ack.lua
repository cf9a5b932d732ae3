-- SPDX-License-Identifier: MIT
-- Messages are done.
--@include end_lease

-- Returns how many were still in flight.
local function acknowledge(leases, flight, item)
  local done
  if item.from == item.to then
    done = redis.call("HDEL", flight, item.token .. ":" .. item.from)
  else
    done = redis.call("HDEL", flight, unpack(fields_of(item.token, item.from, item.to)))
  end
  end_lease(leases, flight, item)
  return done
end
