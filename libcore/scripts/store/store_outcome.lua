--@script store_outcome keys=2 args=2
--@reply STATE i
-- SPDX-License-Identifier: MIT
-- Say whether a transaction is committed. One that is not is aborted, so that a late
-- copy of its commit has no effect.
-- KEYS done, store
-- ARGV id, ms since the commit was sent
-- returns {STATE, 1 committed | 2 aborted | 0 it may have been committed so long ago that
--   it is forgotten}
-- A retry or a late copy finds the same.
--@include replicate_effects
--@include store_found
--@include store_done

-- Half of the time for which transactions are remembered, because the caller's clock may
-- have been set since then.
local KNOWN_MS = DONE_US / 2000

local done, store, id, age = KEYS[1], KEYS[2], ARGV[1], number_at(2, 0)
if misuse then
  return misuse
end

local now = now_us()
local committed, aborted = find_done(done, id)
if committed or redis.call("HGET", store, "decided:" .. id) then
  return { REQUEST + STATE, 1 }
elseif aborted then
  return { REQUEST + STATE, 2 }
elseif age > KNOWN_MS then
  return { REQUEST + STATE, 0 }
end
note_done(done, "a " .. id, now, now)
return { REQUEST + STATE, 2 }
