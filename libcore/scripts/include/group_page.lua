-- SPDX-License-Identifier: MIT
-- Reading what changed in a group, a page at a time.
--@include group_version
--@include number

-- The ids in `changed` or `gone` after version `from`, up to `to`, at most `count`; and
-- the version that they reach, `to` if these are all.
local function ids_between(key, from, to, count)
  local ids = redis.call("ZRANGEBYSCORE", key, string.format("(%.0f", from),
    string.format("%.0f", to), "LIMIT", 0, count)
  if #ids < count then
    return ids, to
  end
  return ids, tonumber(redis.call("ZSCORE", key, ids[count]))
end

-- The changes after version `cursor`, at most `count` of either kind, in the order
-- of their versions; the next page may begin with some of them again. `base` is a version
-- of which the caller has the whole state, or will have when it has reached the end. If
-- some changes after base are no longer kept, the reading begins again, with all members
-- and the present version as base. `more`: there may be further changes that are not in
-- the version yet.
-- Returns {full, base, reached, more, n, then n ids, n values, and the ids that left}.
local function read_page(code, cursor, base, count, more)
  local version, floor = read_version()
  local full = base < floor or base > version or cursor > version
  if full then
    cursor, base = 0, version
  end
  local ids, reached = ids_between(group.changed, cursor, version, count)
  local left
  left, reached = ids_between(group.gone, math.max(cursor, base), reached, count)
  local reply = { code, full and 1 or 0, base, reached, (more or reached < version) and 1 or 0, #ids }
  local values = #ids > 0 and redis.call("HMGET", group.data, unpack(ids)) or {}
  for _, some in ipairs({ ids, values, left }) do
    local last = #reply
    for i = 1, #some do
      reply[last + i] = some[i]
    end
  end
  return reply
end
