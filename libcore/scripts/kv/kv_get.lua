--@script kv_get keys=1 args=0
--@reply STATE i i s
-- SPDX-License-Identifier: MIT
-- Read a value.
-- KEYS record
-- returns {STATE, version (0: none on record), 1 if there is a value, value}
-- Writes nothing.
--@include kv

local version, _, value = read_value(KEYS[1])
if not version then
  return no_version(KEYS[1])
end
return { REQUEST + STATE, version, value and 1 or 0, value or "" }
