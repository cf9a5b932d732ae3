-- SPDX-License-Identifier: MIT
-- No script walks the wait queue while one leads, which may be for months. So
-- each refresh checks a few entries, not always the same, and removes those of
-- dead clients.
--@include election
--@include entry
--@include is_alive

local function forget_dead(queue, now)
  local ms, count, some = math.floor(now / 1000), redis.call("ZCARD", queue), 8
  local from = count > some and ms % (count - some + 1) or 0
  for _, text in ipairs(redis.call("ZRANGE", queue, from, from + some - 1)) do
    local e = parse_entry(text)
    if e and not is_alive(place.live, e.client, ms) then
      redis.call("ZREM", queue, text)
      redis.call("HDEL", place.values, e.token)
    end
  end
end
