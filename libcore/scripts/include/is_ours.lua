-- SPDX-License-Identifier: MIT
-- Whether the value at the key is a holder of this library's; others publish
-- nothing when they go.
--@include reply
local function is_ours(value, record_token)
  return value and (value == READERS or value == record_token) and 1 or 0
end
