-- SPDX-License-Identifier: MIT
-- A countdown latch, as Lua sees it.

local interlock = require "interlock"
local party = require "party"
local support = require "support"

local status = interlock.status

describe("a latch", function()
  local server, client = support.served()
  local latch, name

  before_each(function()
    name = support.name()
    latch = assert(client:latch(name, 3))
  end)

  it("counts down to nothing and stays open", function()
    assert.equal(3, latch:count())
    assert.equal(2, latch:count_down())
    assert.same({ count = 3, left = 2 }, client:inspect_latch(name))
    local ok, _, code = latch:wait(0)
    assert.is_nil(ok)
    assert.equal(status.ILK_EBUSY, code)
    assert.equal(0, latch:count_down(5))

    assert.is_true(latch:wait())
    assert.is_true(client:latch(name, 3):wait(0))
  end)

  it("opens for a process that waits", function()
    local child = party.start(server, [[
      print(client:latch(arg[2], 3):wait(20000))]], name)
    child:stands_in("latch", name, 1)

    latch:count_down(3)

    assert.equal("true", child:finish())
  end)

  it("refuses another count until it is reset", function()
    latch:count_down()
    local four = client:latch(name, 4)
    for _, verb in ipairs { "count", "count_down", "wait" } do
      local ok, msg, code = four[verb](four)
      assert.is_nil(ok)
      assert.equal("the latch counts down from 3, not 4", msg)
      assert.equal(status.ILK_EDIFFERS, code)
    end

    assert.is_true(four:reset())

    assert.equal(4, four:count())
  end)

  it("is left by Ctrl-C at once", function()
    local child = party.start(server, [[
      local latch = client:latch(arg[2], 3)
      print((pcall(latch.wait, latch)))]], name)
    child:stands_in("latch", name, 1)

    child:interrupt()

    assert.equal("false", child:finish())
    child:stands_in("latch", name, 0)
  end)

  it("says what it is and refuses what makes no sense", function()
    assert.equal(("latch %q"):format(name), tostring(latch))
    for _, call in ipairs {
      function() client:latch("", 1) end,
      function() client:latch(name) end,
      function() client:latch(name, 0) end,
      function() client:latch(name, 1.5) end,
      function() client:latch(name, 2 ^ 40) end,
      function() client:latch(name, 1, { keep_ms = -1 }) end,
      function() latch:count_down(0) end,
      function() latch:wait(-1) end,
    } do
      local ran, raised = pcall(call)
      assert.is_false(ran)
      assert.is_truthy(tostring(raised):find("latch_spec.lua", 1, true), raised)
    end
  end)
end)
