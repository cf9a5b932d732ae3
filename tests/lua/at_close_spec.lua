-- SPDX-License-Identifier: MIT
-- The keys that the end of a Lua state leaves behind on the server.

local party = require "party"
local support = require "support"

describe("the end of a Lua state", function()
  local server, other = support.served()

  -- Run a program that holds under a name, and return the name.
  local function run(program)
    local name = support.name()
    assert.equal("held", party.start(server, program, name):finish())
    return name
  end

  it("releases what is renewed", function()
    local name = run [[
      local lock, election = client:lock(arg[2]), client:election(arg[2])
      local member = client:group(arg[2]):join("me")
      for _ = 1, 100 do client:lock("others") end -- younger handles
      assert(lock:acquire(0) and election:campaign(0) and member)
      collectgarbage()
      print "held"
    ]]

    assert.equal("free", other:inspect(name).state)
    assert.is_true(other:election(name):campaign(0))
    assert.same({}, other:group(name):members())
  end)

  it("releases a hold whose object was collected", function()
    local name = run [[
      assert(client:lock(arg[2]):acquire(0))
      collectgarbage() collectgarbage()
      print "held"
    ]]

    assert.equal("free", other:inspect(name).state)
  end)

  it("leaves a hold without renewal to its lease", function()
    local name = run [[
      lock = client:lock(arg[2], { renew = false })
      assert(lock:acquire(0))
      print "held"
    ]]

    assert.equal("held", other:inspect(name).state)
  end)

  it("is not os.exit()", function()
    local name = run [[
      lock = client:lock(arg[2])
      assert(lock:acquire(0))
      print "held"
      io.stdout:flush()
      os.exit(0)
    ]]

    assert.equal("held", other:inspect(name).state)
  end)
end)
