-- SPDX-License-Identifier: MIT
-- Messages in flight lie under the token of their reservation and their
-- places in it.
local function flight_fields(token, from, to)
  local fields = {}
  for i = from, to do
    fields[#fields + 1] = token .. ":" .. i
  end
  return fields
end
