-- SPDX-License-Identifier: MIT
-- An event that stays set, as Lua sees it.

local interlock = require "interlock"
local party = require "party"
local support = require "support"

local status = interlock.status

describe("an event", function()
  local server, client = support.served()
  local event, name

  before_each(function()
    name = support.name()
    event = assert(client:event(name))
  end)

  it("is clear until it is set, and stays set with its data", function()
    assert.is_false(event.is_set)
    assert.equal(0, event:read())
    local ok, _, code = event:wait(0)
    assert.is_nil(ok)
    assert.equal(status.ILK_EBUSY, code)

    local generation = event:set("a\0\r\n\255")

    local late = client:event(name)
    assert.equal(generation, late:wait())
    assert.equal("a\0\r\n\255", late.data)
    assert.is_true(late.is_set)
    assert.equal(generation, late.generation)
  end)

  it("gets a greater generation with every change", function()
    local first = event:set()
    local second = event:set("x")
    local third = event:clear()

    assert.is_true(first < second and second < third)
    assert.equal(third, event:clear())
    assert.equal("", event.data)
    assert.is_false(event.is_set)
  end)

  it("wakes a process that waits", function()
    local child = party.start(server, [[
      local event = client:event(arg[2])
      print(event:wait(20000) == event.generation, event.data)]], name)
    child:stands_in("event", name, 1)

    event:set("now")

    assert.equal("true\tnow", child:finish())
  end)

  it("tells a change past a known generation, and the time that runs out", function()
    local known = event:set("1")
    local ok, _, code = event:wait_change(known, 30)
    assert.is_nil(ok)
    assert.equal(status.ILK_ETIMEOUT, code)
    local child = party.start(server, [[
      local event = client:event(arg[2])
      local now = event:wait_change(tonumber(arg[3]), 20000)
      print(now > tonumber(arg[3]), event.is_set)]], name,
      ("%d"):format(known))
    child:stands_in("event", name, 1)

    event:clear()

    assert.equal("true\tfalse", child:finish())
  end)

  it("ends by itself when it was set for a time", function()
    local short = client:event(name, { ttl_ms = 50 })
    assert(short:set())
    support.sleep_ms(80)

    local ok, _, code = short:wait(0)
    assert.is_nil(ok)
    assert.equal(status.ILK_EBUSY, code)
  end)

  it("is left by Ctrl-C at once", function()
    local child = party.start(server, [[
      local event = client:event(arg[2])
      local ran, raised = pcall(event.wait, event)
      print(ran, tostring(raised):match("interrupted"))]], name)
    child:stands_in("event", name, 1)

    child:interrupt()

    assert.equal("false\tinterrupted", child:finish())
    child:stands_in("event", name, 0)
  end)

  it("says what it is and refuses what makes no sense", function()
    assert.equal(("event %q"):format(name), tostring(event))
    for _, call in ipairs {
      function() client:event("") end,
      function() client:event("ilk:x") end,
      function() client:event(1) end,
      function() client:event(name, { ttl_ms = 0 }) end,
      function() client:event(name, { keep_ms = 1 }) end,
      function() event:set(7) end,
      function() event:wait(-1) end,
      function() event:wait_change(-1) end,
      function() event:wait_change(0.5) end,
      function() event.data = "x" end,
    } do
      local ran, raised = pcall(call)
      assert.is_false(ran)
      assert.is_truthy(tostring(raised):find("event_spec.lua", 1, true), raised)
    end
    local ok, _, code = event:set(("x"):rep(2 ^ 20 + 1))
    assert.is_nil(ok)
    assert.equal(status.ILK_EINVAL, code)
  end)
end)
