-- SPDX-License-Identifier: MIT
-- Put a latch's number on record.
--@include latch

local function write_latch(key, left, initial, keep)
  redis.call("HSET", key, "left", string.format("%.0f", left),
    "initial", string.format("%.0f", initial), "keep", string.format("%.0f", keep))
  redis.call("PEXPIRE", key, keep)
end
