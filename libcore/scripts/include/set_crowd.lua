-- SPDX-License-Identifier: MIT
--@include crowd

local function set_crowd(crowd, client, count, secret)
  if count > 0 then
    redis.call("HSET", crowd, crowd_field(client), count .. " " .. secret)
  else
    redis.call("HDEL", crowd, crowd_field(client))
  end
end
