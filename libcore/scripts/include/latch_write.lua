-- SPDX-License-Identifier: MIT
-- Writing a latch.
--@include latch

local function write_latch(key, left, initial, keep)
  redis.call("HSET", key, "left", string.format("%.0f", left),
    "initial", string.format("%.0f", initial), "keep", string.format("%.0f", keep))
  redis.call("PEXPIRE", key, keep)
end
