-- SPDX-License-Identifier: MIT
-- Removing members of a group.
--@include group_change

local GONE_MOST = 10000

-- `gone` keeps a limited number; cutting it raises the floor.
local function cut_gone(floor)
  local excess = redis.call("ZCARD", group.gone) - GONE_MOST
  if excess <= 0 then
    return floor
  end
  local last = redis.call("ZRANGE", group.gone, excess - 1, excess - 1, "WITHSCORES")
  redis.call("ZREMRANGEBYRANK", group.gone, 0, excess - 1)
  return tonumber(last[2])
end

-- The first write needs no memory, so this works on a server that has none left.
local function remove_members(ids, now)
  local version, floor = read_version()
  local left = {}
  version = math.max(version, now - 1)
  for i, id in ipairs(ids) do
    left[2 * i - 1], left[2 * i] = digits(version + i), id
  end
  redis.call("ZREM", group.members, unpack(ids))
  redis.call("ZREM", group.changed, unpack(ids))
  redis.call("HDEL", group.data, unpack(ids))
  redis.call("ZADD", group.gone, unpack(left))
  write_version(version + #ids, cut_gone(floor))
  keep_group(0)
end
