-- SPDX-License-Identifier: MIT
-- A record of fences outlives the lease by a day, so that numbers go on
-- rising.
local function keep_record(key, lease)
  redis.call("PEXPIRE", key, lease + 86400000)
end
