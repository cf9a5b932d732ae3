-- SPDX-License-Identifier: MIT
-- Looking at locks, and the operator's verbs.

local interlock = require "interlock"
local started = require "started"
local support = require "support"

local status = interlock.status

describe("inspection", function()
  local server, client = support.served({ label = "me" })
  local name

  before_each(function()
    name = support.name()
  end)

  it("tells of a free name", function()
    local info = assert(client:inspect(name))

    assert.equal("free", info.state)
    assert.is_nil(info.holder)
    assert.equal(0, info.ttl_ms)
    assert.equal(0, info.fence)
    assert.equal(0, info.waiting)
    assert.same({}, info.waiters)
  end)

  it("looks at other kinds", function()
    local queue = client:queue(name)
    assert(queue:push("x"))

    local info = assert(client:inspect(name, "queue"))

    assert.equal("queue", info.kind)
    assert.equal("ready", info.state)
    assert.is_true(info.in_use)
    assert.equal(1, info.facts.ready)
    assert.equal("fifo", info.facts.order)
    assert.equal(0, info.longest_wait_ms)
    local nothing, msg = client:inspect(name, "kv")
    assert.is_nil(nothing)
    assert.matches("kind must be", msg)
  end)

  it("tells of the holder", function()
    local lock = client:lock(name, { ttl_ms = 5000 })
    assert.is_true(lock:acquire(0))

    local info = assert(client:inspect(name))

    assert.equal("held", info.state)
    assert.equal(lock.token, info.holder)
    assert.equal("me", info.label)
    assert.equal(lock.fence, info.fence)
    assert.is_true(info.ttl_ms > 4000 and info.ttl_ms <= 5000)
    assert.is_true(math.abs(info.since_ms / 1000 - os.time()) < 5)
    assert.is_true(lock:release())
  end)

  it("shows who waits", function()
    local lock = client:lock(name)
    assert.is_true(lock:acquire(0))
    local op = assert(client:lock(name):acquire_start())
    local notifications = assert(client:notifications())
    support.await(10000, function()
      notifications:next()
      return client:inspect(name).waiting == 1
    end)

    local info = assert(client:inspect(name))

    assert.equal(1, #info.waiters)
    assert.equal("me", info.waiters[1].label)
    assert.is_true(op:cancel())
    assert.is_true(lock:release())
  end)

  it("says whether anyone holds a lock", function()
    local notifications = assert(client:notifications())
    local rwlock = client:rwlock(name)
    local function locked(handle)
      local asked = handle:locked()
      assert.equal(asked, (started.answer(notifications, handle:locked_start())))
      return asked
    end

    assert.is_false(locked(client:lock(name)))
    assert.is_true(rwlock.read:acquire(0))
    assert.is_true(locked(rwlock.read))
    assert.is_true(locked(rwlock.write))
    assert.is_true(rwlock.read:release())
    assert.is_false(locked(rwlock.write))

    local lock = client:lock(name)
    assert.is_true(lock:acquire(0))
    assert.is_true(locked(client:lock(name)))
    assert.is_true(lock:release())
    assert.is_false(locked(lock))

    server:command("RPUSH", name, "no lock")
    assert.equal(status.ILK_ETYPE, select(3, lock:locked()))
    local _, _, code = started.answer(notifications, lock:locked_start())
    assert.equal(status.ILK_ETYPE, code)
    server:command("DEL", name)
  end)

  it("lists the names in byte order", function()
    local names = { name .. "-\0", name .. "-b", name .. "-c" }
    for _, each in ipairs(names) do
      assert.is_true(client:lock(each):acquire(0))
    end

    assert.same(names, client:ls(name .. "-*"))
    assert.same({}, client:ls("nothing-like-it"))
    assert.same({}, client:ls(name .. "-*", "queue"))
    assert.has_error(function() client:ls("*", "loch") end)
    assert.is_true(#client:ls() >= 3)
  end)

  it("breaks an election, of anybody or of one leader", function()
    local election = client:election(name)
    assert.is_true(election:campaign(0))

    assert.equal(status.ILK_ENOTOWNER, select(3, client:break_election(name, "x")))
    assert.is_true(client:break_election(name, election.token))
    assert.equal(status.ILK_ELOST, select(3, election:resign()))
    assert.equal(status.ILK_ENOTOWNER, select(3, client:break_election(name)))
  end)

  it("breaks a lock, of anybody or of one holder", function()
    local lock = client:lock(name)
    assert.is_true(lock:acquire(0))

    assert.equal(status.ILK_ENOTOWNER,
      select(3, client:break_lock(name, ("0"):rep(#lock.token))))
    assert.is_true(client:break_lock(name, lock.token))

    assert.equal("free", client:inspect(name).state)
    assert.equal(status.ILK_ELOST, select(3, lock:release()))
    assert.equal(status.ILK_ENOTOWNER, select(3, client:break_lock(name)))
  end)

  it("answers that a key is no lock", function()
    server:command("RPUSH", name, "x")

    assert.equal(status.ILK_ETYPE, select(3, client:inspect(name)))
    assert.equal(status.ILK_ETYPE, select(3, client:lock(name):acquire(0)))
  end)
end)
