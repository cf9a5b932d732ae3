--@script quorum_yield keys=5 args=7
--@reply HELD i i i
--@reply QUEUED i i i
--@reply LOST
-- SPDX-License-Identifier: MIT
-- Hand this node's vote to the first of its wait queue if that one has an earlier
-- stamp, and go back into the queue. A client whose votes are too few for a majority
-- sends this to each node that it has the vote of.
-- KEYS lock, fence, wait, live, readers (of an election value, which is not used)
-- ARGV token, entry, client, liveness ms, stamp, grant ms, limit
-- returns {HELD, lease left, given, now us} (it has kept the vote, or has it under a
--   new grant because nobody earlier is alive)
--   | {QUEUED, holder's pttl, now us, ours} | {LOST} (it was not the caller's)
-- A reserved vote that is kept is open from then on: its client counts no reserved
-- votes any more. A retry finds the vote handed over. A late copy yields a vote that
-- the client was granted since, unless that was confirmed; the confirmation then finds
-- it gone.
--@include no_fence
--@include now
--@include token
--@include given

local lock, record, wait, live = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local token, entry, client, liveness = token_at(1), ARGV[2], ARGV[3], number_at(4, 1)
local stamp, grant_ms, limit = number_at(5, 0), number_at(6, 1), number_at(7, 1)
--@include enqueue
check_entry(entry, "ex", client, token)
if misuse then
  return misuse
end

if redis.call("GET", lock) ~= token then
  return { REQUEST + LOST }
end
local last, record_token, given, mark = read_grant(record)
if not last then
  return no_fence(record)
end
local now = now_us()
if record_token ~= token or mark == CONFIRMED then
  return { REQUEST + HELD, redis.call("PTTL", lock), given, now }
end

--@include grant
enqueue(wait, live, entry, client, now, liveness, stamp)
if redis.call("ZRANK", wait, entry) == 0 then
  redis.call("ZREM", wait, entry)
  if mark == RESERVED then
    redis.call("HDEL", record, "held")
  end
  return { REQUEST + HELD, redis.call("PTTL", lock), given, now }
end
redis.call("DEL", lock)
local _, _, fence, left = grant(1, grant_ms, limit, liveness, nil, token)
if fence then
  return { REQUEST + HELD, left, fence, now }
end
return { REQUEST + QUEUED, redis.call("PTTL", lock), now, redis.call("EXISTS", lock) }
