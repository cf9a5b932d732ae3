-- SPDX-License-Identifier: MIT
-- client:stop(): waits end, what does not wait still works.

local interlock = require "interlock"
local started = require "started"
local support = require "support"

local status = interlock.status

describe("a stopped client", function()
  local _, client, other = support.served({}, {})
  local name, lock, held

  before_each(function()
    name = support.name()
    lock, held = client:lock(name), other:lock(name)
    assert.is_true(held:acquire(0))
  end)

  after_each(function()
    client:resume()
  end)

  local function assert_stopped(got, msg, code)
    assert.is_nil(got)
    assert.equal("the client is stopped", msg)
    assert.equal(status.ILK_ECANCELLED, code)
  end

  local function await_no_waiter()
    support.await(10000, function()
      return other:inspect(name).waiting == 0
    end)
  end

  it("waits for nothing, until it is resumed", function()
    assert.is_false(client.stopped)
    client:stop()
    assert.is_true(client.stopped)

    assert_stopped(lock:acquire())
    assert_stopped(client:semaphore(name, 1):acquire(5000))
    assert_stopped(client:election(name):campaign(5000))
    assert_stopped(client:event(name):wait(5000))
    assert_stopped(client:signal(name):wait(5000))
    assert_stopped(client:queue(name):pop(5000))

    client:resume()
    assert.is_false(client.stopped)
    assert.equal(status.ILK_ETIMEOUT, select(3, lock:acquire(20)))
    await_no_waiter()
  end)

  it("ends in good order", function()
    local mine = client:lock(name .. "mine")
    assert.is_true(mine:acquire())
    client:stop()

    assert.is_true(client:ping())
    assert.is_true(mine:check())
    assert.is_true(mine:extend(20000))
    assert.is_true(mine:release())
    assert.is_true(mine:acquire(0))
    assert.is_true(mine:release())
    assert.equal(status.ILK_EBUSY, select(3, lock:acquire(0)))
  end)

  -- The interpreter runs a signal handler as such a hook.
  it("was stopped in the middle of a wait", function()
    local hooked = false
    local function hook()
      if not hooked and other:inspect(name).waiting == 1 then
        hooked = true
        client:stop()
      end
    end

    local jit = rawget(_G, "jit") -- LuaJIT calls no hook in what it has compiled
    if jit then
      jit.off()
      jit.flush()
    end
    debug.sethook(hook, "", 100)
    local got, msg, code = lock:acquire(20000)
    debug.sethook()
    if jit then
      jit.on()
    end

    assert_stopped(got, msg, code)
    await_no_waiter()
  end)

  it("ends operations", function()
    local notifications = assert(client:notifications())
    local op = assert(lock:acquire_start())
    support.await(10000, function()
      notifications:next()
      return other:inspect(name).waiting == 1
    end)

    client:stop()

    assert_stopped(started.answer(notifications, op))
    assert_stopped(started.answer(notifications, lock:acquire_start()))
    await_no_waiter()
  end)
end)
