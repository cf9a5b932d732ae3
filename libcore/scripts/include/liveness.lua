-- SPDX-License-Identifier: MIT
-- Extend a client's liveness: live is a zset client -> the server ms until which
-- it counts as alive. The wait queue and live expire when no client does so.
local function extend_liveness(wait, live, client, now, liveness)
  redis.call("ZADD", live, math.floor(now / 1000) + liveness, client)
  redis.call("PEXPIRE", live, liveness * 10)
  redis.call("PEXPIRE", wait, liveness * 10)
end
