-- SPDX-License-Identifier: MIT
-- Puts popped messages back in their place, when the server refuses to store
-- them in flight (a key of a wrong type, a missing right), or when this version
-- cannot read them.
--@include queue_keys

local function put_back(at, blobs, from, order)
  for _ = #blobs, from, -1 do
    redis.call(order == "fifo" and "LPUSH" or "RPUSH", KEYS[at + READY], table.remove(blobs))
  end
end

local function undo_reserve(at, blobs, order, token)
  put_back(at, blobs, 1, order)
  redis.call("ZREM", KEYS[at + LEASES], token)
end

-- Messages keep their order, so the first one of another version ends what can be
-- taken, until a consumer of that version has taken it.
local function put_back_foreign(at, blobs, order)
  for i = 1, #blobs do
    if string.sub(blobs[i], 1, 2) ~= "1 " then
      put_back(at, blobs, i, order)
      return
    end
  end
end

local function refuse_foreign(at)
  return redis.error_reply("ILKARG the next message of '" .. KEYS[at + READY] .. "' is of another version")
end
