-- SPDX-License-Identifier: MIT
-- Whether the holder at the key is of this library; other libraries publish
-- nothing on release.
local function is_ours(value, record_token)
  return value and (value == READERS or value == record_token) and 1 or 0
end
