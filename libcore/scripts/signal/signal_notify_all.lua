--@script signal_notify_all keys=4 args=5
--@reply SIGNALLED i i
-- SPDX-License-Identifier: MIT
-- Signal all waiters: one message for each client, however many of its threads
-- wait, and one on the name's channel for listeners to a pattern. The list is
-- empty afterwards.
-- KEYS wait, live, crowd, sent
-- ARGV signal id, name, data, channel, keep ms of sent
-- returns {SIGNALLED, reached, denied}; denied 1: a message was refused
-- Where the server refuses messages to an inbox, the list stays as it is.
-- A retry of a signal that reached somebody finds that in `sent`, and sends
-- nothing. So does a late copy, until the same handle sends another signal.
-- The work grows with the clients that wait, not with their threads.
--@include signal_message

local wait, live, crowd, sent = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, name, data, channel, keep_ms = signal_id(1), ARGV[2], ARGV[3], ARGV[4], number_at(5, 1)
if misuse then
  return misuse
end
local before = reached_before(sent, id)
if before then
  return { SIGNALLED, before, 0 }
end

local reached, denied = 0, 0
local last = redis.call("ZREVRANGE", wait, 0, 0, "WITHSCORES")
if #last > 0 then
  local ms = math.floor(now_us() / 1000)
  local message = signal_message("notify", string.format("%.0f", last[2]), id, name, data)
  local clients = redis.call("HGETALL", crowd)
  for i = 1, #clients, 2 do
    if clients[i] ~= "ticket" and is_alive(live, clients[i], ms) then
      local heard, refused = try_publish("ilk:inbox:" .. clients[i], message)
      reached = reached + (heard > 0 and tonumber(clients[i + 1]) or 0)
      denied = math.max(denied, refused)
    end
  end
  if denied == 0 or reached > 0 then
    redis.call("UNLINK", wait, crowd)
    redis.pcall("HSET", crowd, "ticket", string.format("%.0f", last[2]))
    redis.call("PEXPIRE", crowd, keep_ms)
  end
end
local heard, refused = try_publish(channel, signal_message("notify", "1", id, name, data))
reached, denied = reached + heard, math.max(denied, refused)
if reached > 0 then
  remember(sent, id, reached, keep_ms)
end
return { SIGNALLED, reached, denied }
