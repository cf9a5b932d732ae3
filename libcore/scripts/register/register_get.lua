--@script register_get keys=1 args=0
--@reply STATE i i s
-- SPDX-License-Identifier: MIT
-- Read a register.
-- KEYS register
-- returns {STATE, version (0: none on record), 1 if there is a value, value}
-- Writes nothing.
--@include register

local version, has_value, value = read_register(KEYS[1])
if not version then
  return no_version(KEYS[1])
end
return { REQUEST + STATE, version, has_value, value }
