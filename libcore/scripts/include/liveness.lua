-- SPDX-License-Identifier: MIT
-- A client says that it lives: live is a zset client -> the server ms until
-- which that counts. Line and clients expire when nobody says so any more.
local function extend_liveness(wait, live, client, now, liveness)
  redis.call("ZADD", live, math.floor(now / 1000) + liveness, client)
  redis.call("PEXPIRE", live, liveness * 10)
  redis.call("PEXPIRE", wait, liveness * 10)
end
