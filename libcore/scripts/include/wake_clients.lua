-- SPDX-License-Identifier: MIT
-- Notify clients that the state that they wait for has changed.

-- A client that waits for changes is in `live` by its id, a dot and the secret
-- that the message must repeat. Notify up to `limit` more clients, first those with the
-- oldest liveness. Returns how many are still to be notified, and 1 when this user may
-- not PUBLISH.
local function wake_clients(wait, live, limit)
  if redis.call("EXISTS", live) == 0 then
    return 0, 0
  end
  local clients = redis.call("ZRANGE", live, 0, limit - 1)
  for _, address in ipairs(clients) do
    local client, secret = string.match(address, "^([^.]*)%.?(.*)$")
    local message = "1 change " .. secret .. " " .. wait
    local receivers = redis.pcall("PUBLISH", "ilk:inbox:" .. client, message)
    if type(receivers) ~= "number" then
      return 0, 1
    end
  end
  if #clients > 0 then
    redis.call("ZREMRANGEBYRANK", live, 0, #clients - 1)
  end
  return #clients == limit and redis.call("ZCARD", live) or 0, 0
end
