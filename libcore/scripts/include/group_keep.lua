-- SPDX-License-Identifier: MIT
--@include group
--@include replicate_effects

local KEEP_MS = 86400000

-- All keys of a group expire together, a day after the longest lease.
local function keep_group(lease)
  local keep = math.max(redis.call("PTTL", group.data), lease + KEEP_MS)
  for _, key in ipairs({ group.members, group.data, group.changed, group.gone }) do
    redis.call("PEXPIRE", key, keep)
  end
end
