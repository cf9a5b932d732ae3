-- SPDX-License-Identifier: MIT
-- Changing a group.
--@include group_version
--@include group_keep
--@include wake_all
--@include digits

-- Keys of a wrong type are refused before anything is written.
local function check_types()
  for _, key in ipairs({ group.members, group.changed, group.gone, group.live }) do
    redis.call("ZCARD", key)
  end
end

-- A group that begins has its first version as its floor.
local function write_version(version, floor)
  floor = floor == 0 and version or floor
  redis.call("HSET", group.data, "", digits(version) .. " " .. digits(floor))
end
