-- SPDX-License-Identifier: MIT
-- Whether a client's liveness has not run out. ms is the server's time.
--@include limits

-- A deadline far ahead was written before the server's clock was set back, and does not show
-- whether its client lives. The client gets one liveness more, in which it refreshes if it
-- lives.
local function is_alive(live, client, ms)
  local deadline = tonumber(redis.call("ZSCORE", live, client) or -1)
  if deadline > ms + 10 * LIVENESS_MS then
    redis.pcall("ZADD", live, "XX", ms + LIVENESS_MS, client)
  end
  return deadline >= ms
end
