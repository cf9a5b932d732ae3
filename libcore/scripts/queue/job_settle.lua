--@script job_settle keys=9* args=4+
--@reply RELEASED s
-- SPDX-License-Identifier: MIT
-- End deliveries: done, failed, untouched or dead.
-- KEYS for each queue: meta, ready, wait, live, delayed, leases, flight, dead,
--   died
-- ARGV order, most attempts (0: no limit), liveness ms, then settlements, see
--   settlement.lua
-- returns {RELEASED, for each settlement how many of its messages were still
--   ours, or -1 when the server refused to write their new place}
-- A retry or a late copy finds them settled: 0.
--@include now
--@include number
--@include settlement
--@include settle

local order, most, liveness = ARGV[1], number_at(2, 0), number_at(3, 1)
local settlements, fault = settlements_at(4, "anrd", #KEYS / QUEUE_KEYS)
if misuse or fault then
  return misuse or fault
end
return { REQUEST + RELEASED, settle(settlements, order, most, math.floor(now_us() / 1000), liveness) }
