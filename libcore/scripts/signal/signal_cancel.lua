--@script signal_cancel keys=3* args=1
--@reply RELEASED
--@reply GONE i
-- SPDX-License-Identifier: MIT
-- End a wait. If the entry is missing in a list, a signal may be on its way to
-- the waiter. A wake-up without a name follows it on the same inbox: when that
-- arrives, nothing more can come.
-- KEYS wait, live, crowd of each name
-- ARGV entry
-- returns {RELEASED} (left all) | {GONE, receivers of the wake-up}
-- A retry or a late copy finds no entry and sends the wake-up once more.
--@include replicate_effects
--@include reply
--@include leave_signal_list
--@include try_publish
local misuse
--@include signal_entry_arg

local entry = ARGV[1]
local client, waiter = signal_entry_at(1)
if misuse then
  return misuse
end

local gone = false
for at = 1, #KEYS, 3 do
  gone = not leave_signal_list(at, entry, client) or gone
end
if not gone then
  return { RELEASED }
end
local heard = try_publish("ilk:inbox:" .. client, "1 wake " .. waiter .. " ")
return { GONE, heard }
