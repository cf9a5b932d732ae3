-- SPDX-License-Identifier: MIT
-- Signals, as Lua sees them. Lua has one thread, so who waits has listened.

local interlock = require "interlock"
local party = require "party"
local support = require "support"

local status = interlock.status

describe("a signal", function()
  local server, client, other = support.served({}, {})
  local name, signal

  before_each(function()
    name = support.name()
    signal = assert(client:signal(name))
  end)

  it("is lost where nobody waits", function()
    assert.equal(0, signal:notify_one("x"))
    assert.equal(0, signal:notify_all())

    local data, msg, code = signal:wait(30)
    assert.is_nil(data)
    assert.is_string(msg)
    assert.equal(status.ILK_ETIMEOUT, code)
  end)

  it("carries any bytes to one who waits", function()
    assert.is_true(signal:listen())
    assert.equal(1, other:signal(name):notify_one("\0\r\n\255"))

    local data, from = signal:wait(2000)
    assert.equal("\0\r\n\255", data)
    assert.equal(name, from)
    assert.is_nil((signal:wait(0)))
  end)

  it("goes to all, also of another client", function()
    local second = other:signal(name)
    signal:listen()
    second:listen()

    assert.equal(2, client:signal(name):notify_all("both"))
    assert.equal("both", (signal:wait(2000)))
    assert.equal("both", (second:wait(2000)))
  end)

  it("of a pattern has its name", function()
    local listener = assert(client:signal(name .. ".*", { pattern = true }))
    listener:listen()

    assert.equal(1, other:signal(name .. ".a"):notify_all("x"))
    local data, from = listener:wait(2000)
    assert.equal("x", data)
    assert.equal(name .. ".a", from)
  end)

  it("is passed on by one who gives up", function()
    local second = client:signal(name)
    signal:listen()
    second:listen()
    other:signal(name):notify_one("x")
    support.sleep_ms(50)

    assert.is_true(signal:cancel())
    assert.equal("x", (second:wait(2000)))
  end)

  it("is one of several, or all of them, or none in time", function()
    local set = { signal, client:signal(name .. "b") }

    local none, _, code = interlock.wait_any(set, 30)
    assert.is_nil(none)
    assert.equal(status.ILK_ETIMEOUT, code)
    none, _, code = interlock.wait_all(set, 30)
    assert.is_nil(none)
    assert.equal(status.ILK_ETIMEOUT, code)
  end)

  it("ends a wait for any, and one for all, of several", function()
    local any = party.start(server, [[
      local a, b = client:signal(arg[2]), client:signal(arg[3])
      local came, data = interlock.wait_any({ a, b }, 10000)
      print(came == b, data)]], name, name .. "b")
    any:stands_in("signal", name .. "b", 1)
    assert.equal(1, client:signal(name .. "b"):notify_one("x"))
    assert.equal("true\tx", any:finish())

    local all = party.start(server, [[
      local a, b = client:signal(arg[2]), client:signal(arg[3])
      local came = assert(interlock.wait_all({ a, b }, 10000))
      print(came[a], came[b])]], name, name .. "b")
    all:stands_in("signal", name .. "b", 1)
    assert.equal(1, client:signal(name .. "b"):notify_one("2"))
    assert.equal(1, signal:notify_all("1"))
    assert.equal("1\t2", all:finish())
  end)

  it("wait ends with Ctrl-C, and leaves the list", function()
    local waiter = party.start(server, [[
      print(pcall(function() return client:signal(arg[2]):wait() end))]], name)
    waiter:stands_in("signal", name, 1)
    support.sleep_ms(100)
    waiter:interrupt()
    assert.matches("interrupted!", waiter:finish())
    waiter:stands_in("signal", name, 0)
  end)

  it("refuses what makes no sense in the caller's line", function()
    local function refused(text, fn, ...)
      local ran, msg = pcall(fn, ...)
      assert.is_false(ran)
      assert.matches(text, msg)
    end

    refused("name must be a string, got 7", client.signal, client, 7)
    refused("unknown option", client.signal, client, name, { patern = true })
    refused("data must be a string or nil", signal.notify_one, signal, 7)
    refused("signals must be a table", interlock.wait_any, "x")
    refused("signals%[1%] is no signal", interlock.wait_any, { 7 })
    refused("one signal at least", interlock.wait_all, {})
    local reached, _, code = signal:notify_all(("x"):rep(1024 * 1024 + 1))
    assert.is_nil(reached)
    assert.equal(status.ILK_EINVAL, code)
    assert.equal(('signal "%s"'):format(name), tostring(signal))
  end)
end)
