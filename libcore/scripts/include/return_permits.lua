-- SPDX-License-Identifier: MIT
-- Removing holds of a semaphore: expired or released.

-- Remove holds whose lease ran out. ms: a number or its digits.
local function purge(key, record, ms)
  local gone = redis.call("ZRANGEBYSCORE", key, "-inf", ms)
  if #gone == 0 then
    return
  end
  redis.call("ZREMRANGEBYSCORE", key, "-inf", ms)
  for _, member in ipairs(gone) do
    local token = string.match(member, "^(.*) 1$")
    if token then
      redis.call("HDEL", record, "+" .. token)
    end
  end
end

-- Removing works on a server out of memory, so a release does it first.
local function return_permits(key, record, token)
  local i = 1
  while redis.call("ZREM", key, token .. " " .. i) == 1 do
    i = i + 1
  end
  redis.call("HDEL", record, "+" .. token)
end
