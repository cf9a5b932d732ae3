-- SPDX-License-Identifier: MIT
-- Operations that are started, and a loop that fetches what became of them.

local interlock = require "interlock"
local started = require "started"
local support = require "support"

local status = interlock.status

describe("an operation", function()
  local server, client, other = support.served({}, {})
  local notifications, name

  before_each(function()
    notifications = assert(client:notifications())
    name = support.name()
  end)

  local function finish(op)
    return started.finish(notifications, op)
  end

  local function waiting(count)
    support.await(10000, function()
      notifications:next()
      return server:command("ZCARD", "ilk:lock:wait:{" .. name .. "}")
        == tostring(count)
    end)
  end

  it("tells by a notification that it is done, and how", function()
    local lock = client:lock(name)

    local op = assert(lock:acquire_start(0))
    local notification = finish(op)

    assert.same({ "done", "ILK_OK", op.id, op },
      { notification.kind, notification.status, notification.id, notification.op })
    assert.is_nil(notification.lock)
    assert.is_true(op.done)
    assert.equal("ILK_OK", op.status)
    assert.is_true(op:result())
    assert.is_true(lock.held)
    assert.equal("ILK_OK", finish(assert(lock:release_start())).status)
    assert.is_false(lock.held)
  end)

  it("is under way until it gets what it waits for", function()
    local theirs, lock = other:lock(name), client:lock(name)
    assert.is_true(theirs:acquire(0))

    local op = assert(lock:acquire_start())
    waiting(1)

    assert.is_false(op.done)
    assert.equal("ILK_EAGAIN", op.status)
    assert.equal(status.ILK_EAGAIN, select(3, op:result()))
    assert.equal(("operation %d (ILK_EAGAIN)"):format(op.id), tostring(op))
    assert.is_true(theirs:release())
    assert.equal("ILK_OK", finish(op).status)
    assert.is_true(lock.held)
    assert.is_true(lock.fence > theirs.fence)
    finish(assert(lock:release_start()))
  end)

  it("answers what the method without _start would", function()
    local theirs, lock = other:lock(name), client:lock(name)
    assert.is_true(theirs:acquire(0))

    local once = assert(lock:acquire_start(0))
    assert.equal("ILK_EBUSY", finish(once).status)
    local before = support.now_ms()
    local late = assert(lock:acquire_start(100))
    assert.equal("ILK_ETIMEOUT", finish(late).status)

    assert.is_true(support.now_ms() - before >= 100)
    local _, msg, code = once:result()
    assert.same({ select(2, lock:acquire(0)) }, { msg, code })
    assert.equal(status.ILK_ETIMEOUT, select(3, late:result()))
    assert.is_true(theirs:release())
  end)

  it("fails at once when it cannot be started", function()
    local lock = client:lock(name)

    local op, msg, code = lock:release_start()

    assert.is_nil(op)
    assert.equal("string", type(msg))
    assert.equal(status.ILK_ENOTOWNER, code)
    assert.has_error(function() lock:acquire_start("soon") end)
    assert.has_error(function() lock:adopt_start(7) end)
  end)

  it("leaves no place in the line when it is cancelled", function()
    local theirs = other:lock(name)
    assert.is_true(theirs:acquire(0))
    local op = assert(client:lock(name):acquire_start())
    waiting(1)

    assert.is_true(op:cancel())

    assert.equal("ILK_ECANCELLED", finish(op).status)
    waiting(0)
    assert.equal(status.ILK_ECANCELLED, select(3, op:result()))
    assert.is_true(op:cancel())
    assert.is_true(theirs:release())
    assert.equal("0", server:command("EXISTS", name))
  end)

  it("is forgotten when it is closed", function()
    local theirs = other:lock(name)
    assert.is_true(theirs:acquire(0))
    local op = assert(client:lock(name):acquire_start())
    waiting(1)

    op:close()
    op:close()

    waiting(0)
    assert.equal(("operation %d (closed)"):format(op.id), tostring(op))
    assert.has_error(function() op:result() end, "the operation is closed")
    for _ in notifications.next, notifications do
      error("a notification told of it")
    end
    assert.is_true(theirs:release())
  end)

  it("goes on when the program does not keep it", function()
    local theirs = other:lock(name)
    assert.is_true(theirs:acquire(0))
    local id = assert(client:lock(name):acquire_start()).id
    waiting(1)
    collectgarbage()
    collectgarbage()

    assert.is_true(theirs:release())

    local notification = finish({ id = id })
    assert.equal("ILK_OK", notification.status)
    assert.is_true(notification.op:result())
  end)

  it("ends with ILK_ECLOSED when its client is closed", function()
    local theirs = other:lock(name)
    local third = assert(interlock.connect(server.url))
    local news = assert(third:notifications())
    assert.is_true(theirs:acquire(0))
    local op = assert(third:lock(name):acquire_start())

    third:close()

    local notification = news:next()
    assert.same({ "done", "ILK_ECLOSED", op.id },
      { notification.kind, notification.status, notification.id })
    assert.equal(status.ILK_ECLOSED, select(3, news:next()))
    assert.is_true(theirs:release())
  end)

  it("is one of hundreds at once", function()
    local theirs = other:lock(name)
    local locks, starts, turns = {}, {}, 0
    assert.is_true(theirs:acquire(0))
    local first = assert(client:lock(name):acquire_start())
    waiting(1) -- from now on the server notifies this client
    first:close()
    for i = 1, 300 do
      locks[i] = client:lock(name)
      starts[assert(locks[i]:acquire_start()).id] = locks[i]
    end
    assert.is_true(theirs:release())

    support.await(20000, function()
      for notification in notifications.next, notifications do
        assert.equal("ILK_OK", notification.status)
        local lock = starts[notification.id]
        if lock then
          assert.equal(locks[turns + 1], lock)
          turns = turns + 1
          assert(lock:release_start())
        end
      end
      return turns == #locks
    end)

    assert.equal("0", server:command("ZCARD", "ilk:lock:wait:{" .. name .. "}"))
  end)
end)
