-- SPDX-License-Identifier: MIT
-- Writing what a member of a group publishes.
--@include number
--@include group_change

local function data_at(index)
  local data = ARGV[index]
  if #data > 4096 then
    misuse = misuse or redis.error_reply("ILKARG data must have at most 4096 bytes, got " .. #data)
  end
  return data
end

local function write_member(id, value, now, lease)
  local version, floor = read_version()
  version = math.max(version + 1, now)
  redis.call("HSET", group.data, id, value)
  redis.call("ZADD", group.changed, digits(version), id)
  redis.call("ZREM", group.gone, id)
  write_version(version, floor)
  keep_group(lease)
end
