--@script signal_wait keys=4* args=4+
--@reply QUEUED i *
--@reply BUSY
--@token 1
-- SPDX-License-Identifier: MIT
-- Wait for signals of one or several names, under one entry.
-- KEYS wait, live, crowd, given of each name
-- ARGV entry ('' only checks the keys' types), client, liveness ms, limit
--   (ignored), then for each name the secret of the client's waiters there
-- returns {QUEUED, now us, then the ticket in each list} | {BUSY}
-- A retry finds its entries and returns the same tickets. Where a signal was given
-- to it meanwhile, the signal is sent once more, and no entry is added. A late copy adds the
-- entry of a wait that is over; its client passes on a signal that the entry gets.
--@include now
--@include liveness
--@include number
--@include signal_entry_arg

local entry, client, liveness = ARGV[1], ARGV[2], number_at(3, 1)
local field
if entry ~= "" then
  field = select(3, signal_entry_at(1, client))
end
if entry ~= "" and #ARGV ~= 4 + #KEYS / 4 then
  misuse = redis.error_reply("ILKARG " .. #KEYS / 4 .. " secrets are needed, got " .. #ARGV - 4)
end
if misuse then
  return misuse
end

local now = now_us()
local ms = math.floor(now / 1000)
--@include set_crowd
--@include send_again

-- Tickets rise with the clock, also after the list was emptied, so that a
-- broadcast that is still on its way does not reach later waiters.
local function enter_signal_list(at, secret)
  local wait, live, crowd = KEYS[at], KEYS[at + 1], KEYS[at + 2]
  local top = redis.call("ZREVRANGE", wait, "0", "0", "WITHSCORES")[2]
  local last = math.max(tonumber(top or 0), tonumber(redis.call("HGET", crowd, "ticket") or 0))
  local ticket = math.max(last + 1, now)
  if not send_again(at, client, field) then
    if redis.call("ZADD", wait, "NX", string.format("%.0f", ticket), entry) == 0 then
      ticket = tonumber(redis.call("ZSCORE", wait, entry))
    else
      if not top then
        redis.call("DEL", crowd)
        redis.call("HSET", crowd, "ticket", string.format("%.0f", last))
      end
      set_crowd(crowd, client, in_crowd(crowd, client) + 1, secret)
    end
  end
  redis.call("ZREMRANGEBYSCORE", live, "-inf", string.format("(%.0f", ms))
  extend_liveness(wait, live, client, now, liveness)
  redis.call("PEXPIRE", crowd, liveness * 10)
  return ticket
end

-- A key of a wrong type fails here, before anything is written.
for at = 1, #KEYS, 4 do
  redis.call("ZCARD", KEYS[at])
  redis.call("ZCARD", KEYS[at + 1])
  redis.call("HLEN", KEYS[at + 2])
  redis.call("HLEN", KEYS[at + 3])
end
if entry == "" then
  return { REQUEST + BUSY }
end
local reply = { REQUEST + QUEUED, now }
for at = 1, #KEYS, 4 do
  reply[#reply + 1] = enter_signal_list(at, ARGV[5 + (at - 1) / 4])
end
return reply
