-- SPDX-License-Identifier: MIT
-- Those who observe an election. Each was told what was true when it came.
--@include election
--@include entry
--@include replicate_effects

-- Keys of a wrong type are refused before anything is written.
local function check_types()
  redis.call("HLEN", place.values)
  redis.call("ZCARD", place.seen)
end

-- Something changed: wake them, and each asks what it is. They leave the wait queue
-- whether that reaches them or not, so that a refresh tells those it does not
-- reach, and those who stand behind the bound.
local function tell_observers(limit)
  local entries = redis.call("ZRANGE", place.seen, 0, limit * 16 - 1)
  for _, text in ipairs(entries) do
    local e = parse_entry(text)
    if e then
      redis.pcall("PUBLISH", "ilk:inbox:" .. e.client, "1 wake " .. e.waiter .. " " .. place.lock)
    end
  end
  redis.call("DEL", place.seen)
end
