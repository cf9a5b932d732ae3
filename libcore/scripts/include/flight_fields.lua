-- SPDX-License-Identifier: MIT
-- The hash fields of messages in flight: token of the reservation and place.
local function flight_fields(token, from, to)
  local fields = {}
  for i = from, to do
    fields[#fields + 1] = token .. ":" .. i
  end
  return fields
end
