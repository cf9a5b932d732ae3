-- SPDX-License-Identifier: MIT
-- A server that refuses to keep what was taken (a key of a wrong type, a
-- missing right) gets it back in its place.
--@include queue_keys

local function put_back(at, blobs, order, token)
  for i = #blobs, 1, -1 do
    redis.call(order == "fifo" and "LPUSH" or "RPUSH", KEYS[at + READY], blobs[i])
  end
  redis.call("ZREM", KEYS[at + LEASES], token)
end
