-- SPDX-License-Identifier: MIT
-- What luacheck takes for granted, by folder. CI allows no warning.

std = "min"
max_line_length = 100
codes = true

-- The public package: Lua 5.1 to 5.4 and LuaJIT, no globals.
files["lua"] = { std = "min" }

-- Tests of it, which look at what the Lua they run on has.
files["tests/lua"] = { std = "max+busted" }

-- What the simulation runs in the place of a server, which has Lua 5.1.
files["tests/sim"] = {
  std = "lua51",
  globals = {
    "redis", "KEYS", "ARGV", "pcall", "clock_us", "publish", "subscribers", "channels",
    "forget_all", "run_command", "run_script", "wire_of", "value_of", "members_of",
  },
}
