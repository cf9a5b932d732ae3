--@script signal_notify_all keys=5 args=5
--@reply SIGNALLED i i
-- SPDX-License-Identifier: MIT
-- Signal all waiters: one message for each client, however many of its threads
-- wait, and one on the name's channel for listeners to a pattern. Only entries of
-- another version are in the list afterwards.
-- KEYS wait, live, crowd, given (untouched), sent
-- ARGV signal id, name, data, channel, keep ms of sent
-- returns {SIGNALLED, reached, denied}; denied 1: a message was refused
-- Where the server refuses messages to an inbox, the list stays as it is.
-- A retry of a signal that reached somebody finds that in `sent`, and sends
-- nothing. So does a late copy, until the same handle sends another signal.
-- The work grows with the clients that wait; with their threads only while waiters
-- of another version are in the list.
--@include is_alive
--@include try_inbox
--@include crowd
--@include signal_entry
--@include signal_message

local wait, live, crowd, sent = KEYS[1], KEYS[2], KEYS[3], KEYS[5]
local id, name, data, channel, keep_ms = signal_id(1), ARGV[2], ARGV[3], ARGV[4], number_at(5, 1)
if misuse then
  return misuse
end
local before = reached_before(sent, id)
if before then
  return { REQUEST + SIGNALLED, before, 0 }
end

-- An entry of another version stays, for a signal of its version.
local function empty_list(clients, count, last_ticket)
  if redis.call("ZCARD", wait) == count then
    redis.call("UNLINK", wait, crowd)
  else
    for _, entry in ipairs(redis.call("ZRANGE", wait, 0, -1)) do
      if parse_signal_entry(entry) then
        redis.call("ZREM", wait, entry)
      end
    end
    for _, client in ipairs(clients) do
      redis.call("HDEL", crowd, crowd_field(client))
    end
  end
  redis.pcall("HSET", crowd, "ticket", string.format("%.0f", last_ticket))
  redis.call("PEXPIRE", crowd, keep_ms)
end

local reached, denied, text = 0, 0, signal_text(id, name, data)
local last = redis.call("ZREVRANGE", wait, 0, 0, "WITHSCORES")
if #last > 0 then
  local ms = math.floor(now_us() / 1000)
  local ticket = string.format("%.0f.", last[2])
  local clients, all = {}, 0
  for _, field in ipairs(redis.call("HKEYS", crowd)) do
    local client = string.match(field, "^2 (%S+)$")
    if client then
      local count, secret = in_crowd(crowd, client)
      clients[#clients + 1], all = client, all + count
      if secret and is_alive(live, client, ms) then
        local message = "1 notify " .. ticket .. secret .. " " .. text
        local receivers, refused = try_inbox(client, message)
        reached = reached + (receivers > 0 and count or 0)
        denied = math.max(denied, refused)
      end
    end
  end
  if denied == 0 or reached > 0 then
    empty_list(clients, all, last[2])
  end
end
local receivers, refused = try_publish(channel, "1 notify 1.- " .. text)
reached, denied = reached + receivers, math.max(denied, refused)
if reached > 0 then
  remember(sent, id, reached, keep_ms)
end
return { REQUEST + SIGNALLED, reached, denied }
