-- SPDX-License-Identifier: MIT
-- Finding out that a barrier's open round has to break.
--@include entry
--@include barrier

-- Returns why the open round cannot become full any more: one of its parties is
-- dead, or the wait queue was lost. Dead clients without an entry are forgotten.
local function find_fault(b, now)
  if b.first == 0 then
    return nil
  end
  local dead, is_dead = redis.call("ZRANGEBYSCORE", KEYS[4], "-inf",
    string.format("(%.0f", math.floor(now / 1000)), "LIMIT", 0, 1024), {}
  if redis.call("ZCARD", KEYS[3]) ~= b.last - b.first + 1 then
    return "forgotten"
  end
  if #dead == 0 then
    return nil
  end
  for _, client in ipairs(dead) do
    is_dead[client] = true
  end
  for _, text in ipairs(redis.call("ZRANGE", KEYS[3], 0, -1)) do
    local e = parse_entry(text)
    if e and is_dead[e.client] then
      return "dead " .. e.who
    end
  end
  redis.call("ZREM", KEYS[4], unpack(dead))
  return nil
end
