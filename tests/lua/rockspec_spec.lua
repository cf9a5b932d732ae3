-- SPDX-License-Identifier: MIT
-- The rock has every module of the package, and each is where it says.

local support = require "support"

local here = debug.getinfo(1, "S").source:match("^@(.*)/[^/]*$") or "."
local lua_dir = here .. "/../../lua"

local function rockspec()
  local file = assert(io.open(lua_dir .. "/interlock-scm-1.rockspec"))
  local text = file:read("*a")
  file:close()
  local env = {}
  if setfenv then
    setfenv(assert(loadstring(text)), env)()
  else
    assert(load(text, "rockspec", "t", env))()
  end
  return env
end

describe("the rockspec", function()
  it("lists the modules that there are", function()
    local wanted = {}
    local files = support.output("ls " .. lua_dir .. "/interlock/*.lua")
    for path in files:gmatch("[^\n]+") do
      local name = "interlock." .. path:match("([%w_]+)%.lua$")
      local listed = name:gsub("%.init$", "")
      wanted[listed] = "lua/interlock/" .. path:match("[%w_]+%.lua$")
    end
    assert.is_truthy(wanted.interlock)

    assert.same(wanted, rockspec().build.install.lua)
  end)
end)
