--@script signal_refresh keys=3* args=4+
--@reply FREE i i i *
-- SPDX-License-Identifier: MIT
-- Extend a client's liveness. A waiter whose entry is missing in a list gets a
-- wake-up on the inbox, behind the signal that may be on its way to it. One
-- wake-up too many does no harm.
-- KEYS wait, live, crowd of each name
-- ARGV client, liveness ms, each name, n, then n entries
-- returns {FREE, -1, now us, 1, then for each entry QUEUED, 0, 0}: what a
--   refresh of a lock returns when nothing is held and nothing to be granted
-- A retry or a late copy does the same again.
--@include now
--@include reply
--@include liveness
--@include number
--@include signal_entry_arg
--@include try_publish

local client, liveness, first = ARGV[1], number_at(2, 1), 4 + #KEYS / 3
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

local function look_after(wait, live, crowd, name)
  for i = first, #ARGV do
    if not redis.call("ZSCORE", wait, ARGV[i]) then
      local _, waiter = parse_signal_entry(ARGV[i])
      try_publish("ilk:inbox:" .. client, "1 wake " .. waiter .. " " .. name)
    end
  end
  extend_liveness(wait, live, client, now, liveness)
  redis.call("PEXPIRE", crowd, liveness * 10)
end

for at = 1, #KEYS, 3 do
  look_after(KEYS[at], KEYS[at + 1], KEYS[at + 2], ARGV[2 + (at + 2) / 3])
end
local reply = { FREE, -1, now, 1 }
for _ = first, #ARGV do
  local last = #reply
  reply[last + 1], reply[last + 2], reply[last + 3] = QUEUED, 0, 0
end
return reply
