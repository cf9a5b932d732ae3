-- SPDX-License-Identifier: MIT
-- The end of a reservation. `item` is item.lua's.
--@include fields

-- A reservation all of whose messages are finished is none any more.
local function end_lease(leases, flight, item)
  if item.count == 0 then
    return
  end
  if item.from > 1 or item.to < item.count then
    local left = redis.call("HMGET", flight, unpack(fields_of(item.token, 1, item.count)))
    for i = 1, item.count do
      if left[i] then
        return
      end
    end
  end
  redis.call("ZREM", leases, item.token)
end
