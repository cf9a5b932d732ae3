--@script signal_refresh keys=4* args=6+
--@reply FREE i i i *
-- SPDX-License-Identifier: MIT
-- Extend a client's liveness. A waiter whose entry is missing in a list gets a
-- wake-up on the inbox, behind the signal that may be on its way to it. One
-- wake-up too many does no harm. Signals that were given to clients that have
-- died since go to other waiters.
-- KEYS wait, live, crowd, given of each name
-- ARGV client, liveness ms, again, limit of entries in one step, each name, n,
--   then n entries; again 1: signals that were given to these entries are sent
--   once more, because the inbox was opened anew
-- returns {FREE, -1, now us, 1, then for each entry QUEUED, 0, 0}: what a
--   refresh of a lock returns when nothing is held and nothing is to be granted
-- A retry or a late copy does the same again.
--@include now
--@include liveness
--@include number
--@include signal_entry_arg

local client, liveness, again, limit = ARGV[1], number_at(2, 1), number_at(3, 0), number_at(4, 1)
local first = 6 + #KEYS / 4
local count = number_at(first - 1, 0)
if not misuse and #ARGV ~= first - 1 + count then
  misuse = redis.error_reply("ILKARG " .. count .. " entries announced, got " .. #ARGV - first + 1)
end
for i = first, #ARGV do
  signal_entry_at(i, client)
end
if misuse then
  return misuse
end

local now = now_us()
local ms = math.floor(now / 1000)
--@include hand_on_from_dead
--@include send_again

local function look_after(at, name)
  local wait, live, crowd, given = KEYS[at], KEYS[at + 1], KEYS[at + 2], KEYS[at + 3]
  for i = first, #ARGV do
    if not redis.call("ZSCORE", wait, ARGV[i]) then
      local _, waiter, field = parse_signal_entry(ARGV[i])
      if again > 0 then
        send_again(at, client, field)
      end
      try_publish("ilk:inbox:" .. client, "1 wake " .. waiter .. " " .. name)
    end
  end
  extend_liveness(wait, live, client, now, liveness)
  redis.call("PEXPIRE", crowd, liveness * 10)
  redis.call("PEXPIRE", given, liveness * 10)
  hand_on_from_dead(at, limit)
end

for at = 1, #KEYS, 4 do
  look_after(at, ARGV[4 + (at + 3) / 4])
end
local reply = { REQUEST + FREE, -1, now, 1 }
for _ = first, #ARGV do
  local last = #reply
  reply[last + 1], reply[last + 2], reply[last + 3] = QUEUED, 0, 0
end
return reply
