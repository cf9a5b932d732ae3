-- SPDX-License-Identifier: MIT
-- Where the things of a queue lie: KEYS[at + READY], with at 0 for the first
-- queue of a call and 9 more for each further one.
local META, READY, WAIT, LIVE, DELAYED = 1, 2, 3, 4, 5
local LEASES, FLIGHT, DEAD, DIED, SHELF = 6, 7, 8, 9, 9

-- A message lies as `1 <id> <attempts> <pushed ms> <data>`; attempts are the
-- deliveries that have ended. The same with other attempts, and these.
local function with_attempts(blob, change)
  local head, attempts, rest = string.match(blob, "^(1 %d+ )(%d+)()")
  attempts = change and attempts + change or 0
  return head .. string.format("%.0f", attempts) .. string.sub(blob, rest), attempts
end

-- One member of leases is one reservation: its token, and as its score both
-- the server ms of its end and how many messages lie in flight under
-- `<token>:1` and on.
local SPAN = 512

local function lease_score(until_ms, count)
  return string.format("%.0f", until_ms * SPAN + count)
end

local function until_of(score)
  return math.floor(score / SPAN), score % SPAN
end

local function fields_of(token, from, to)
  local fields = {}
  for i = from, to do
    fields[#fields + 1] = token .. ":" .. i
  end
  return fields
end

-- Count what does not happen to every message; not worth failing for.
local function tally(at, what, count)
  if count > 0 then
    redis.pcall("HINCRBY", KEYS[at + META], what, count)
  end
end
