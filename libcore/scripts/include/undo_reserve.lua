-- SPDX-License-Identifier: MIT
-- Puts popped messages back in their place, when the server refuses to store
-- them in flight (a key of a wrong type, a missing right).
--@include queue_keys

local function put_back(at, blobs, order, token)
  for i = #blobs, 1, -1 do
    redis.call(order == "fifo" and "LPUSH" or "RPUSH", KEYS[at + READY], blobs[i])
  end
  redis.call("ZREM", KEYS[at + LEASES], token)
end
