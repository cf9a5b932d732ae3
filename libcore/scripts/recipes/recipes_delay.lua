--@script recipes_delay keys=1 args=2
--@reply WRITTEN
-- SPDX-License-Identifier: MIT
-- Put a task into a zset, to be due after a delay by the server's clock.
-- KEYS queue    ARGV delay in ms (may be negative), task
-- returns {WRITTEN}
-- A retry delays the same task by the time in between. A late copy would put it
-- in again after it was taken.
--@include number
--@include now

local queue = KEYS[1]
local delay, task = number_at(1, -9007199254740991), ARGV[2]
if misuse then
  return misuse
end

local due = string.format("%.6f", (now_us() + delay * 1000) / 1000000)
redis.call("ZADD", queue, due, task)
return { REQUEST + WRITTEN }
