-- SPDX-License-Identifier: MIT
-- The common case of queue_reserve, before the functions of the others are
-- created.
--@include undo_reserve

-- One message of one queue, nothing has become due, and at most one settlement,
-- of a message that is done. The other cases are handled by reserve_many.lua.
local last = ""
if #ARGV == 11 then
  last = string.match(ARGV[#ARGV], "^a 0 (%S+) 1 1 1 ")
end
if #KEYS == QUEUE_KEYS and last and #ARGV <= 11 and token ~= "" and ARGV[10] == "0" and
  count == 1 and lease and lease >= 0 and lease % 1 == 0 and (lease > 0 or last == "") and
  redis.call("HGET", KEYS[META], "order") == order and
  redis.call("LLEN", KEYS[READY]) > 0 and
  not redis.call("ZRANGEBYSCORE", KEYS[LEASES], "-inf", now_ms * SPAN + SPAN - 1, "LIMIT", "0", "1")[1] and
  not redis.call("ZRANGEBYSCORE", KEYS[DELAYED], "-inf", string.sub(now_text, 1, -4), "LIMIT", "0", "1")[1] then
  local pop = order == "fifo" and "LPOP" or "RPOP"
  if lease == 0 then
    local blobs = redis.call(pop, KEYS[READY], "1")
    put_back_foreign(0, blobs, order)
    return blobs[1] and { REQUEST + JOBS, "", 0, 0, now, blobs[1] } or refuse_foreign(0)
  end
  done = ""
  if last ~= "" then
    done = tostring(redis.call("HDEL", KEYS[FLIGHT], last .. ":1"))
    redis.call("ZREM", KEYS[LEASES], last)
  end
  -- In two parts, because %d is right for 31 bits only on some servers, and %.0f takes longer.
  local score = (now_ms + lease) * SPAN + 1
  local low = score % 1e7
  local kept = redis.pcall("ZADD", KEYS[LEASES], "NX", string.format("%d%07d", (score - low) / 1e7, low), token)
  if kept == 1 then
    local blobs = redis.call(pop, KEYS[READY], "1")
    put_back_foreign(0, blobs, order)
    kept = blobs[1] and redis.pcall("HSET", KEYS[FLIGHT], token .. ":1", blobs[1]) or refuse_foreign(0)
    if type(kept) == "number" then
      return { REQUEST + JOBS, done, 0, lease, now, blobs[1] }
    end
    undo_reserve(0, blobs, order, token)
  end
  if type(kept) ~= "number" then
    return last == "" and kept or { REQUEST + REFUSED, done, kept.err }
  end
end
