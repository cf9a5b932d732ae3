--@script signal_notify_all keys=5 args=5
--@reply SIGNALLED i i i
-- SPDX-License-Identifier: MIT
-- Signal all waiters, and listeners to a pattern on the name's channel. While few
-- clients wait, each gets one message, however many of its threads wait, and the list
-- is gone. Else each call signals to the next entries, up to the last one that was there
-- at the first call. Only entries of another version, and later ones, are in the list
-- afterwards.
-- KEYS wait, live, crowd, given (untouched), sent
-- ARGV signal id, name, data, channel, keep ms of sent
-- returns {SIGNALLED, reached, more, denied}; more 1: call again, reached counts up;
--   denied 1: a message was refused
-- Where the server refuses messages to an inbox, the list stays as it is.
-- A retry of a signal that reached somebody finds that in `sent`, and sends
-- nothing; one that is under way goes on. So does a late copy, until the same handle
-- sends another signal.
-- The work of a call grows with the clients that wait, up to STEP; with their threads
-- only while waiters of another version are in the list.
--@include is_alive
--@include try_inbox
--@include crowd
--@include signal_entry
--@include signal_message

-- Clients, or entries, that one call signals to.
local STEP = 128

local wait, live, crowd, sent = KEYS[1], KEYS[2], KEYS[3], KEYS[5]
local id, name, data, channel, keep_ms = signal_id(1), ARGV[2], ARGV[3], ARGV[4], number_at(5, 1)
if misuse then
  return misuse
end
local before, state = reached_before(sent, id)
if before then
  return { REQUEST + SIGNALLED, before, 0, 0 }
end

local ms = math.floor(now_us() / 1000)
local text = signal_text(id, name, data)
local reached, denied = 0, 0

-- Signal to those waiters of a client that have this ticket or an earlier one.
local function signal_client(client, count, secret, ticket)
  if secret and is_alive(live, client, ms) then
    local receivers, refused = try_inbox(client, "1 notify " .. ticket .. "." .. secret .. " " .. text)
    reached = reached + (receivers > 0 and count or 0)
    denied = math.max(denied, refused)
  end
end

local function signal_channel()
  local receivers, refused = try_publish(channel, "1 notify 1.- " .. text)
  reached, denied = reached + receivers, math.max(denied, refused)
end

local function is_refused()
  return denied == 1 and reached == 0
end

-- A score with all of its digits.
local function ticket_of(score)
  return string.format("%.0f", score)
end

--@include empty_signal_list

local function signal_clients(last)
  local clients, all = {}, 0
  for _, field in ipairs(redis.call("HKEYS", crowd)) do
    local client = string.match(field, "^2 (%S+)$")
    if client then
      local count, secret = in_crowd(crowd, client)
      clients[#clients + 1], all = client, all + count
      signal_client(client, count, secret, last)
    end
  end
  if not is_refused() then
    empty_list(clients, all)
    keep_ticket(last)
  end
end

--@include signal_steps

local from, last = find_progress(state)
local is_first, has_steps = not from, from
if is_first then
  last = redis.call("ZREVRANGE", wait, "0", "0", "WITHSCORES")[2]
  last = last and ticket_of(last)
  -- Without memory for the progress it is one step.
  if last and redis.call("HLEN", crowd) > STEP + 1 and keep_progress("0", last) then
    from, has_steps = "0", true
    keep_ticket(last)
  elseif last then
    signal_clients(last)
  end
end
repeat
  from = from and signal_entries(from, last)
  if is_first then
    is_first = false
    signal_channel()
  end
until not from or keep_progress(from, last)

if reached > 0 and not from then
  remember(sent, id, reached, keep_ms)
elseif has_steps and not from then
  redis.call("DEL", sent)
end
return { REQUEST + SIGNALLED, reached, from and 1 or 0, denied }
