--@script kv_read keys=1 args=0
--@reply STATE i s i s i
-- SPDX-License-Identifier: MIT
-- Read the copy of a value that one server of a ring has.
-- KEYS record
-- returns {STATE, version (0: none on record), token, 1 if there is a value, value, now us}
-- Writes nothing.
--@include now
--@include kv

local now = now_us()
local version, token, value = read_value(KEYS[1])
if not version then
  return no_version(KEYS[1])
end
return { REQUEST + STATE, version, token, value and 1 or 0, value or "", now }
