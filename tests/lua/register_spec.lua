-- SPDX-License-Identifier: MIT
-- A register, one value with a version, as Lua sees it.

local interlock = require "interlock"
local party = require "party"
local support = require "support"

local status = interlock.status

describe("a register", function()
  local server, client = support.served()
  local register, name

  before_each(function()
    name = support.name()
    register = assert(client:register(name))
  end)

  it("has version 0 and no value until it is written", function()
    assert.equal(0, register.version)
    local version, value = register:get()
    assert.equal(0, version)
    assert.is_nil(value)

    local written = register:set("a\0\r\n\255")

    local late = client:register(name)
    assert.same({ written, "a\0\r\n\255" }, { late:get() })
    assert.same({ written, "a\0\r\n\255" }, { late.version, late.value })
    assert.is_true(register:set("") > written)
    assert.equal("", select(2, late:get()))
  end)

  it("is written over the version that is known, and no other", function()
    local first = assert(register:cas(0, "one"))
    local second = assert(client:register(name):cas(first, "two"))
    assert.is_true(second > first)

    local version, msg, code = register:cas(first, "three")

    assert.is_nil(version)
    assert.equal(status.ILK_ESTALE, code)
    assert.equal(("version %d is on record, not %d"):format(second, first), msg)
    assert.same({ second, "two" }, { register.version, register.value })
    assert.is_true(register:cas(second, "three") > second)
  end)

  it("is deleted, and keeps a version", function()
    local ok, msg, code = register:delete()
    assert.same({ nil, "there is no value", status.ILK_ESTALE }, { ok, msg, code })
    local written = register:set("x")
    assert.equal(status.ILK_ESTALE, select(3, register:delete(written - 1)))
    assert.is_true(register:delete(written))

    local version, value = register:get()

    assert.is_nil(value)
    assert.is_true(version > written)
    assert.is_true(register:cas(version, "y") > version)
    assert.is_true(register:delete())
  end)

  it("is changed by a function, again when another was first", function()
    local other, calls = client:register(name), 0
    local function append(old)
      calls = calls + 1
      if calls == 1 then
        other:set("theirs")
      end
      return (old or "") .. "+"
    end

    local version, value = register:change(append)

    assert.equal(2, calls)
    assert.equal("theirs+", value)
    assert.same({ version, value }, { other:get() })
  end)

  it("gives up a change that others overtake until the time is over", function()
    local other = client:register(name)
    local version, _, code = register:change(function()
      other:set("theirs")
      return "mine"
    end, 0)

    assert.is_nil(version)
    assert.equal(status.ILK_ETIMEOUT, code)
    assert.equal("theirs", select(2, other:get()))
  end)

  it("passes on what a change's function raises, and refuses its nonsense", function()
    assert.has_error(function()
      register:change(function() error("no", 0) end)
    end, "no")
    local ran, msg = pcall(register.change, register, function() end)
    assert.is_false(ran)
    assert.matches("fn must return a string, got nil", msg)
    assert.equal(0, register:get())
  end)

  it("wakes a process that waits for another version", function()
    local known = register:set("one")
    local child = party.start(server, [[
      local register = client:register(arg[2])
      local version, value = register:wait(tonumber(arg[3]), 20000)
      print(version > tonumber(arg[3]), value)]], name, ("%d"):format(known))
    child:stands_in("register", name, 1)

    register:set("two")

    assert.equal("true\ttwo", child:finish())
  end)

  it("returns at once from a wait past another version, else in time", function()
    assert.equal(status.ILK_EBUSY, select(3, register:wait(0, 0)))
    assert.equal(status.ILK_ETIMEOUT, select(3, register:wait(0, 30)))
    local known = register:set("x")
    assert.same({ known, "x" }, { register:wait(0) })
    register:delete()
    assert.same({ register.version }, { register:wait(known) })
  end)

  it("is left by Ctrl-C at once", function()
    local child = party.start(server, [[
      local register = client:register(arg[2])
      local ran, raised = pcall(register.wait, register, 0)
      print(ran, tostring(raised):match("interrupted"))]], name)
    child:stands_in("register", name, 1)

    child:interrupt()

    assert.equal("false\tinterrupted", child:finish())
    child:stands_in("register", name, 0)
  end)

  it("says what it is and refuses what makes no sense", function()
    assert.equal(("register %q"):format(name), tostring(register))
    assert.is_true(client:offers("register"))
    for _, call in ipairs {
      function() client:register("") end,
      function() client:register("ilk:x") end,
      function() client:register(1) end,
      function() register:set() end,
      function() register:set(7) end,
      function() register:cas(-1, "x") end,
      function() register:cas(0.5, "x") end,
      function() register:cas(nil, "x") end,
      function() register:cas(0) end,
      function() register:delete(-1) end,
      function() register:change("x") end,
      function() register:wait() end,
      function() register:wait(0, -1) end,
      function() register.value = "x" end,
    } do
      assert.has_error(call)
    end
    local version, msg, code = register:set(("x"):rep(65537))
    assert.same({ nil, "value must have at most 65536 bytes, got 65537",
      status.ILK_EINVAL }, { version, msg, code })
  end)
end)
