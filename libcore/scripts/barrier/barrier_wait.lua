--@script barrier_wait keys=5 args=10
--@reply STATE i i
--@reply QUEUED i i i i
--@reply BUSY i i i
--@reply LOST s
--@reply GONE
--@reply DIFFERS i
-- SPDX-License-Identifier: MIT
-- Arrive at a barrier, or read the state of the round of this arrival.
-- KEYS barrier, arrived, wait, live, rounds
-- ARGV entry ("wait" only, else ''), client, liveness ms, limit,
--   "wait" | "try" (arrive only as the last of a round) | "leave", token,
--   parties, keep ms, number of this arrival (0: not known), who
-- returns {STATE, index, round} (the round is full)
--   | {QUEUED, -1, now us, 1, number} | {BUSY, -1, now us, 1}
--   | {LOST, why the round broke} | {GONE} (left; the round is broken)
--   | {DIFFERS, the number of parties on record}
-- A retry or a late copy does not arrive a second time: it finds its token, and
-- returns the state or the end of that round, until the numbers are forgotten
-- (barrier.lua). A repeated leave finds that it was done.
--@include replicate_effects
--@include token
--@include now
--@include enqueue
--@include barrier_fault
--@include barrier_leave
--@include barrier_number

-- The reply for an arrival whose round is over.
local function tell_round(number)
  local text = redis.call("ZRANGEBYSCORE", KEYS[5], string.format("%.0f", number), "+inf",
    "LIMIT", 0, 1)[1] or ""
  local first, how = string.match(text, "^(%d+) (.*)$")
  if not first or tonumber(first) > number then
    return { REQUEST + LOST, "forgotten" }
  elseif how == "full" then
    return { REQUEST + STATE, number - tonumber(first), tonumber(first) }
  end
  return { REQUEST + LOST, string.sub(how, 8) }
end

local _, arrived, wait, live = unpack(KEYS)
local entry, client, liveness, limit = ARGV[1], ARGV[2], number_at(3, 1), number_at(4, 1) * 16
local mode, token, parties = ARGV[5], token_at(6), number_at(7, 1)
local keep, known, who = number_at(8, 1), number_at(9, 0), ARGV[10]
if mode == "wait" then
  check_entry(entry, "o", client, token)
end
if misuse then
  return misuse
end

local b, now = read_barrier(), now_us()
local score = tonumber(redis.call("ZSCORE", arrived, token) or nil)
local number = score and math.floor(score)
if mode == "leave" and score ~= number then
  return { REQUEST + GONE }
end
local fault = find_fault(b, now)
if fault then
  end_round(b, "broken " .. fault, limit)
end
local is_open = number and b.first > 0 and number >= b.first
if number and not is_open then
  return tell_round(number)
elseif mode == "leave" then
  return leave_round(b, token, who, limit)
elseif not number and b.since > 0 and known >= b.since then
  return { REQUEST + LOST, "forgotten" }
elseif b.parties and b.parties ~= parties then
  return { REQUEST + DIFFERS, b.parties }
end

local here = b.first > 0 and b.last - b.first + 1 or 0
local fills = not number and here + 1 == parties
if mode == "try" and not fills then
  return { REQUEST + BUSY, -1, now, 1 }
end
if not fills then
  enqueue(wait, live, entry, client, now, liveness)
end
if not number then
  number = next_number(b, now)
  b.first = b.first > 0 and b.first or number
end
b.parties, b.keep = parties, keep
if fills then
  local first = b.first
  end_round(b, "full", limit)
  redis.call("ZADD", arrived, string.format("%.0f", number), token)
  redis.call("PEXPIRE", arrived, keep)
  return { REQUEST + STATE, number - first, first }
end
redis.call("ZADD", arrived, string.format("%.0f", number), token)
write_barrier(b)
return { REQUEST + QUEUED, -1, now, 1, number }
