-- SPDX-License-Identifier: MIT
-- Which transactions of a store are committed or aborted.

-- Returns its timestamp if it is committed, the time of its abort if it is aborted.
local function find_done(done, id)
  return tonumber(redis.call("ZSCORE", done, "c " .. id) or nil),
    tonumber(redis.call("ZSCORE", done, "a " .. id) or nil)
end
