-- SPDX-License-Identifier: MIT
-- The server's clock as now.lua has it, without a function.
--@include replicate_effects

local time = redis.call("TIME")
local now_digits = time[1] .. string.sub("00000" .. time[2], -6)
local now = tonumber(now_digits)
