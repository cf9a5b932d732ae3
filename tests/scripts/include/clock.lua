-- SPDX-License-Identifier: MIT
-- The clock of the tests, as in now.lua.
local now_digits = redis.call("GET", "ilk:test:now")
local now = tonumber(now_digits)
