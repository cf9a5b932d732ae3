-- SPDX-License-Identifier: MIT
-- Whether a client's liveness has not run out. ms is the server's time.

local function is_alive(live, client, ms)
  return tonumber(redis.call("ZSCORE", live, client) or -1) >= ms
end
