-- SPDX-License-Identifier: MIT
-- Writing a version of a key, and dropping those that nobody may read any more.
--@include store

-- Versions of a key that are kept at most.
local VERSIONS_MOST = 64

-- Those before the last one that a transaction may still read, and those that are too
-- many.
local function count_dropped(versions, now)
  local dropped = math.max(#versions - VERSIONS_MOST, 0)
  while dropped + 1 < #versions and versions[dropped + 2] <= now - KEEP_US do
    dropped = dropped + 1
  end
  return dropped
end

-- `versions` are those that are there, all of them before `at`; `version` is `v<value>`
-- or `d`.
local function write_version(key, versions, at, version, now)
  versions[#versions + 1] = at
  local dropped = count_dropped(versions, now)
  local kept = {}
  for i = dropped + 1, #versions do
    kept[#kept + 1] = digits(versions[i])
  end
  redis.call("HSET", key, digits(at), version, "versions", table.concat(kept, " "))
  if dropped > 0 then
    redis.call("HSET", key, "cut", 1)
  end
  for i = 1, dropped do
    redis.call("HDEL", key, digits(versions[i]))
  end
  if version == "d" then
    redis.call("PEXPIRE", key, GONE_MS)
  else
    redis.call("PERSIST", key)
  end
end
