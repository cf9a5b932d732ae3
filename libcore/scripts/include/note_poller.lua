-- SPDX-License-Identifier: MIT
-- Writing down that a foreign holder was seen, see pollers.lua, and when to look again.
--@include pollers
--@include keep_record

-- How old the last look is before another one is written down.
local AGAIN_MS = 20

-- value: what lies at the key. Returns for how many ms it has been seen there.
local function note_poller(record, value, ms)
  local field = redis.call("HMGET", record, "polled", "since", "poller")
  local first, last, open = parse_polled(field[1])
  local began, whose = string.match(field[3] or "", "^(%d+) (.*)$")
  value = string.sub(value, 1, 64)
  began = whose == value and tonumber(began) or ms
  if last and ms - last < AGAIN_MS and ms >= last and began < ms then
    return ms - began
  end
  if not first or first < (tonumber(field[2]) or 0) then
    first = ms
  end
  redis.call("HSET", record, "polled", string.format("%.0f %.0f %.0f", first, ms, open or 0),
    "poller", string.format("%.0f ", began) .. value)
  if not field[2] then
    keep_record(record, 0)
  end
  return math.max(0, ms - began)
end

-- Nobody is notified when a foreign holder releases, and one that takes the name again
-- at once leaves it free for a fifth of a millisecond. So the client of the first waiter
-- looks more often than the others, but less often the longer the hold lasts. Returns the
-- value that takes the place of `ours` in a reply: 0, or minus the ms after which that
-- client looks again.
local function look_again(wait, client, seen_ms)
  local first = redis.call("ZRANGE", wait, "0", "0")[1]
  if first and string.match(first, "^%d+ %S+ (%S+) ") == client then
    return -math.max(5, math.floor(seen_ms / 50))
  end
  return 0
end
