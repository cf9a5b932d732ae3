--@script signal_cancel keys=4* args=3
--@reply RELEASED
--@reply GONE i
--@token 1
-- SPDX-License-Identifier: MIT
-- End a wait. Its entry leaves the list of each name. If it is missing in a list,
-- a signal may have been given to the waiter.
-- KEYS wait, live, crowd, given of each name
-- ARGV entry, ask or a digit for each name, limit of entries in one step
-- ask: the signal is sent once more, and a wake-up without a name follows it on
-- the same inbox: when that arrives, nothing more can come. A digit 1
-- acknowledges the signal of that name, 0 hands it on to the next waiter.
-- returns {RELEASED} (it left all lists, or digits were given) | {GONE, 1 if the
--   wake-up has a receiver, else 0}
-- A retry or a late copy finds no entry. It sends the wake-up once more, or finds
-- nothing that is given to the waiter.
--@include replicate_effects
--@include number
--@include now
--@include signal_entry_arg

local entry, what, limit = ARGV[1], ARGV[2], number_at(3, 1)
local client, waiter, field = signal_entry_at(1)
if not misuse and what ~= "ask" and (#what ~= #KEYS / 4 or string.find(what, "[^01]")) then
  misuse = redis.error_reply("ILKARG ask or " .. #KEYS / 4 .. " digits are needed, got '" .. what .. "'")
end
if misuse then
  return misuse
end
local ms = math.floor(now_us() / 1000)
--@include hand_on_signal
--@include send_again

local gone = false
for at = 1, #KEYS, 4 do
  local was_there = leave_signal_list(at, entry, client)
  local index = (at + 3) / 4
  if what == "ask" then
    gone = not was_there or gone
    send_again(at, client, field)
  elseif string.sub(what, index, index) == "1" then
    redis.call("HDEL", KEYS[at + 3], field or "")
  else
    hand_on(at, field, limit)
  end
end
if not gone then
  return { REQUEST + RELEASED }
end
local receivers = try_publish("ilk:inbox:" .. client, "1 wake " .. waiter .. " ")
return { REQUEST + GONE, math.min(receivers, 1) }
