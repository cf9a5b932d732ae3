-- SPDX-License-Identifier: MIT
-- Tell clients that what they wait for has changed.

-- Tell up to `limit` more clients, first those with the oldest liveness. Returns
-- how many are still to be told, and 1 when this user may not PUBLISH.
local function wake_clients(wait, live, limit)
  local clients = redis.call("ZRANGE", live, 0, limit - 1)
  for _, client in ipairs(clients) do
    local receivers = redis.pcall("PUBLISH", "ilk:inbox:" .. client, "1 change " .. wait)
    if type(receivers) ~= "number" then
      return 0, 1
    end
  end
  if #clients > 0 then
    redis.call("ZREMRANGEBYRANK", live, 0, #clients - 1)
  end
  return #clients == limit and redis.call("ZCARD", live) or 0, 0
end
