-- SPDX-License-Identifier: MIT
-- When this hold's lease ends, in server ms; nil when there is none.
local function lease_ends_at(key, token)
  return tonumber(redis.call("ZSCORE", key, token .. " 1") or nil)
end
