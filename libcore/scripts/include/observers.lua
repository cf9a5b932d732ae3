-- SPDX-License-Identifier: MIT
-- The observers of an election. Each has read the state when it joined.
--@include election
--@include entry
--@include replicate_effects

-- Keys of a wrong type are refused before anything is written.
local function check_types()
  redis.call("HLEN", place.values)
  redis.call("ZCARD", place.seen)
end

-- After a change: wake the observers, and each asks for the new state. All
-- entries leave the wait queue, so a refresh returns GONE for observers that
-- this did not reach, and for those behind the bound.
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
