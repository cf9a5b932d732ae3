--@script job_ack keys=2 args=1+
--@reply RELEASED s
-- SPDX-License-Identifier: MIT
-- Acknowledge messages. Works on a server that is out of memory.
-- KEYS leases, flight
-- ARGV settlements, see settlement.lua
-- returns {RELEASED, for each settlement how many of its messages were still
--   ours}
-- A retry or a late copy finds them done: 0. A message that another consumer
-- has now is under another token and is not touched.

-- The common case: one message that was reserved alone.
local alone = #ARGV == 1 and string.match(ARGV[1], "^a 0 (%S+) 1 1 1 ")
if alone then
  local gone = redis.call("HDEL", KEYS[2], alone .. ":1")
  redis.call("ZREM", KEYS[1], alone)
  return { REQUEST + RELEASED, tostring(gone) }
end

--@include settlement
--@include ack
local settlements, fault = settlements_at(1, "a", 1)
if fault then
  return fault
end
local done = {}
for i, settlement in ipairs(settlements) do
  done[i] = acknowledge(KEYS[1], KEYS[2], settlement)
end
return { REQUEST + RELEASED, table.concat(done, " ") }
