--@script barrier_cancel keys=5 args=5
--@reply GONE
-- SPDX-License-Identifier: MIT
-- A waiter is gone: break the round that it waits in.
-- KEYS barrier, arrived, wait, live, rounds
-- ARGV entry, token, grant ms, limit, liveness ms; grant ms and liveness keep
--   the places they have for a lock
-- returns {GONE}
-- A retry or a late copy finds that round ended.
--@include replicate_effects
--@include token
--@include barrier_leave

local entry, token, limit = parse_entry(ARGV[1]), token_at(2), number_at(4, 1)
if misuse then
  return misuse
end
return leave_round(read_barrier(), token, entry and entry.who or "", limit * 16)
