--@script signal_wait keys=3* args=4
--@reply QUEUED i *
--@reply BUSY
-- SPDX-License-Identifier: MIT
-- Wait for signals of one or several names, under one entry.
-- KEYS wait, live, crowd of each name
-- ARGV entry ('' only checks the keys' types), client, liveness ms, limit
--   (ignored)
-- returns {QUEUED, now us, then the ticket in each list} | {BUSY}
-- A retry finds its entries and returns the same tickets. A late copy adds the
-- entry of a wait that is over; its client passes a signal to it on.
--@include now
--@include reply
--@include liveness
--@include number
--@include signal_entry_arg

local entry, client, liveness = ARGV[1], ARGV[2], number_at(3, 1)
if entry ~= "" then
  signal_entry_at(1, client)
end
if misuse then
  return misuse
end

local now = now_us()

-- Tickets rise with the clock, also after the list was emptied, so that a
-- broadcast that is still on its way does not reach later waiters.
local function enter_signal_list(wait, live, crowd)
  local top = redis.call("ZREVRANGE", wait, 0, 0, "WITHSCORES")[2]
  local last = tonumber(top or redis.call("HGET", crowd, "ticket") or 0)
  local ticket = math.max(last + 1, now)
  if redis.call("ZADD", wait, "NX", string.format("%.0f", ticket), entry) == 0 then
    ticket = tonumber(redis.call("ZSCORE", wait, entry))
  else
    if not top then
      redis.call("DEL", crowd)
      redis.call("HSET", crowd, "ticket", string.format("%.0f", last))
    end
    redis.call("HINCRBY", crowd, client, 1)
  end
  redis.call("ZREMRANGEBYSCORE", live, "-inf", string.format("(%.0f", math.floor(now / 1000)))
  extend_liveness(wait, live, client, now, liveness)
  redis.call("PEXPIRE", crowd, liveness * 10)
  return ticket
end

-- A key of a wrong type fails here, before anything is written.
for at = 1, #KEYS, 3 do
  redis.call("ZCARD", KEYS[at])
  redis.call("ZCARD", KEYS[at + 1])
  redis.call("HLEN", KEYS[at + 2])
end
if entry == "" then
  return { BUSY }
end
local reply = { QUEUED, now }
for at = 1, #KEYS, 3 do
  reply[#reply + 1] = enter_signal_list(KEYS[at], KEYS[at + 1], KEYS[at + 2])
end
return reply
