-- SPDX-License-Identifier: MIT
-- Joining the wait queue: wait is a zset ticket -> entry. A ticket is the server's time in
-- us, or one more than the greatest of the others: that one may be from before the clock was
-- set back.
--@include number
--@include entry
--@include liveness

-- ILKARG for an entry that is not the caller's own.
local function check_entry(text, kinds, client, token, permits)
  local entry = parse_entry(text)
  if not entry or not string.find(kinds, entry.kind, 1, true) or entry.client ~= client or
    entry.token ~= token or entry.permits ~= (permits or entry.permits) then
    misuse = misuse or redis.error_reply("ILKARG no entry of this caller: '" .. text .. "'")
  end
end

-- Whether the client's liveness was extended a moment ago: then this call need not extend it.
local function is_fresh(live, client, now, liveness)
  local left = tonumber(redis.call("ZSCORE", live, client) or 0) - now / 1000
  return left > liveness * 5 / 6 and left <= liveness
end

-- A retry keeps its place. Dead clients are removed here, because a busy name
-- would otherwise collect all clients that ever waited. stamp: the caller's own ticket, or
-- nil. Returns the greatest ticket that there was before.
local function enqueue(wait, live, text, client, now, liveness, stamp)
  local last = redis.call("ZREVRANGE", wait, "0", "0", "WITHSCORES")
  local greatest = tonumber(last[2] or 0)
  redis.call("ZADD", wait, "NX", stamp or math.max(greatest + 1, now), text)
  if not is_fresh(live, client, now, liveness) then
    redis.call("ZREMRANGEBYSCORE", live, "-inf", string.format("(%.0f", math.floor(now / 1000)))
    extend_liveness(wait, live, client, now, liveness)
  elseif not last[2] then
    redis.call("PEXPIRE", wait, liveness * 10) -- the wait queue is a new one
  end
  return greatest
end
