-- SPDX-License-Identifier: MIT
-- A barrier, as Lua sees it.

local interlock = require "interlock"
local party = require "party"
local support = require "support"

local status = interlock.status

describe("a barrier", function()
  local server, client = support.served()
  local barrier, name

  before_each(function()
    name = support.name()
    barrier = assert(client:barrier(name, 2))
  end)

  local waits = [[
    local index, msg, code = client:barrier(arg[2], 2):wait(20000)
    print(index, msg and msg:match("left it") or msg,
      code and interlock.status[code])]]

  it("lets all pass, each with its index, round by round", function()
    for _ = 1, 2 do
      local child = party.start(server, waits, name)
      child:stands_in("barrier", name, 1)
      assert.equal(1, barrier:waiting())
      assert.equal(1, client:inspect_barrier(name).waiting)

      assert.equal(1, barrier:wait(5000))

      assert.equal("0\tnil\tnil", child:finish())
    end
    assert.equal(0, barrier:waiting())
  end)

  it("arrives at once only as the last", function()
    local index, _, code = barrier:wait(0)
    assert.is_nil(index)
    assert.equal(status.ILK_EBUSY, code)
    assert.equal(0, barrier:waiting())
  end)

  it("breaks when a time runs out", function()
    local three = client:barrier(name, 3)
    local child = party.start(server, waits:gsub("2%)", "3)"), name)
    child:stands_in("barrier", name, 1)

    local index, _, code = three:wait(500) -- long enough to arrive

    assert.is_nil(index)
    assert.equal(status.ILK_ETIMEOUT, code)
    assert.equal("nil\tleft it\tILK_EBROKEN", child:finish())
  end)

  it("breaks at once when a party is interrupted", function()
    local program = waits:gsub("2%)", "3)")
    local stays = party.start(server, program, name)
    local goes = party.start(server, program, name)
    stays:stands_in("barrier", name, 2)

    goes:interrupt()

    assert.equal("nil\tleft it\tILK_EBROKEN", stays:finish())
    assert.is_truthy(goes:finish():find("interrupted!", 1, true))
  end)

  it("refuses another number of parties until it is reset", function()
    local child = party.start(server, waits, name)
    child:stands_in("barrier", name, 1)
    local three = client:barrier(name, 3)
    local index, msg, code = three:wait(1000)
    assert.is_nil(index)
    assert.equal("the barrier has 2 parties, not 3", msg)
    assert.equal(status.ILK_EDIFFERS, code)

    assert.is_true(three:reset())

    assert.is_truthy(child:finish():find("reset the barrier", 1, true))
    assert.equal(0, three:waiting())
  end)

  it("says what it is and refuses what makes no sense", function()
    assert.equal(("barrier %q"):format(name), tostring(barrier))
    for _, call in ipairs {
      function() client:barrier("", 2) end,
      function() client:barrier(name) end,
      function() client:barrier(name, 0) end,
      function() client:barrier(name, 1025) end,
      function() client:barrier(name, 2, { keep_ms = 0 }) end,
      function() barrier:wait(-1) end,
    } do
      local ran, raised = pcall(call)
      assert.is_false(ran)
      assert.is_truthy(tostring(raised):find("barrier_spec.lua", 1, true), raised)
    end
  end)
end)
