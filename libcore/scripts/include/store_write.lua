-- SPDX-License-Identifier: MIT
-- Writing a version of a key, and dropping those that nobody may read any more.
--@include store

-- How long the text of the versions is at most: 64 timestamps of 16 digits.
local TEXT_MOST = 64 * 17 - 1

-- `versions` are those that are there (see store_key.lua), all of them before `at`;
-- `version` is `v<value>` or `d`. Dropped are those before the last one that a transaction
-- may still read, and those that are too many.
local function write_version(key, versions, at, version, now)
  local text = digits(at)
  versions = versions == "" and text or versions .. " " .. text
  local dropped = {}
  local first, second = string.match(versions, "^(%d+) (%d+)")
  while first and (#versions > TEXT_MOST or tonumber(second) <= now - KEEP_US) do
    dropped[#dropped + 1] = first
    versions = string.sub(versions, #first + 2)
    first, second = string.match(versions, "^(%d+) (%d+)")
  end
  if #dropped > 0 then
    redis.call("HSET", key, text, version, "versions", versions, "cut", "1")
    redis.call("HDEL", key, unpack(dropped))
  else
    redis.call("HSET", key, text, version, "versions", versions)
  end
  if version == "d" then
    redis.call("PEXPIRE", key, GONE_MS)
  else
    redis.call("PERSIST", key)
  end
end
