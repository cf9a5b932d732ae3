-- SPDX-License-Identifier: MIT
-- A new fence, and the record of the grant that it belongs to.
--@include record
--@include rising

local function write_record(key, fence, token, now, who, lease)
  redis.call("HSET", key, "fence", string.format("%.0f", fence), "token", token,
    "since", string.format("%.0f", math.floor(now / 1000)), "who", who)
  keep_record(key, lease)
end
