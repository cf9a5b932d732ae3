-- SPDX-License-Identifier: MIT
-- Operations that are started, and a loop that fetches what became of them.

local interlock = require "interlock"
local support = require "support"

local status = interlock.status

describe("an operation", function()
  local server, client, other = support.served({}, {})
  local events, name

  before_each(function()
    events = assert(client:events())
    name = support.name()
  end)

  -- Fetch events until one tells of this operation; that event.
  local function finish(op)
    local found
    support.await(10000, function()
      for event in events.next, events do
        if event.id == op.id then
          found = event
        end
      end
      return found
    end)
    return found
  end

  local function waiting(count)
    support.await(10000, function()
      events:next()
      return server:command("ZCARD", "ilk:lock:wait:{" .. name .. "}")
        == tostring(count)
    end)
  end

  it("tells by an event that it is done, and how", function()
    local lock = client:lock(name)

    local op = assert(lock:acquire_start(0))
    local event = finish(op)

    assert.same({ "done", "ILK_OK", op.id, op },
      { event.kind, event.status, event.id, event.op })
    assert.is_nil(event.lock)
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
    for _ in events.next, events do
      error("an event told of it")
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

    local event = finish({ id = id })
    assert.equal("ILK_OK", event.status)
    assert.is_true(event.op:result())
  end)

  it("ends with ILK_ECLOSED when its client is closed", function()
    local theirs = other:lock(name)
    local third = assert(interlock.connect(server.url))
    local news = assert(third:events())
    assert.is_true(theirs:acquire(0))
    local op = assert(third:lock(name):acquire_start())

    third:close()

    local event = news:next()
    assert.same({ "done", "ILK_ECLOSED", op.id },
      { event.kind, event.status, event.id })
    assert.equal(status.ILK_ECLOSED, select(3, news:next()))
    assert.is_true(theirs:release())
  end)

  it("is one of hundreds at once", function()
    local theirs = other:lock(name)
    local locks, starts, turns = {}, {}, 0
    assert.is_true(theirs:acquire(0))
    local first = assert(client:lock(name):acquire_start())
    waiting(1) -- from now on this client is told when it may
    first:close()
    for i = 1, 300 do
      locks[i] = client:lock(name)
      starts[assert(locks[i]:acquire_start()).id] = locks[i]
    end
    assert.is_true(theirs:release())

    support.await(20000, function()
      for event in events.next, events do
        assert.equal("ILK_OK", event.status)
        local lock = starts[event.id]
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

  -- ---- the methods that have one ------------------------------------------

  -- What it answers: first its own, then what the other method answers.
  local function answers(op, ...)
    finish(assert(op, ...))
    return op:result()
  end

  it("may be each verb of a lock", function()
    local lock, heir = client:lock(name), client:lock(name)

    assert.is_true(answers(lock:acquire_start(0, 2000)))
    assert.is_true(lock:remaining_ms() <= 2000)
    assert.is_true(answers(lock:extend_start(9000)))
    assert.is_true(lock:remaining_ms() > 8000)
    assert.is_true(answers(lock:check_start()))
    assert.is_true(answers(heir:adopt_start(assert(lock:detach()))))
    assert.is_true(answers(heir:release_start()))
    assert.equal("0", server:command("EXISTS", name))
  end)

  it("may be of both sides of a read-write lock, and of many names", function()
    local doors = client:rwlock(name)
    local many = client:lock_many { name .. "1", name .. "2" }

    assert.is_true(answers(doors.read:acquire_start(0)))
    assert.equal(status.ILK_EBUSY, select(3, answers(doors.write:acquire_start(0))))
    assert.is_true(answers(doors.read:release_start()))
    assert.is_true(answers(many:acquire_start(0)))
    assert.is_true(answers(many:extend_start()))
    assert.is_true(answers(many:check_start()))
    assert.equal("2", server:command("EXISTS", name .. "1", name .. "2"))
    assert.is_true(answers(many:release_start()))
    assert.equal("0", server:command("EXISTS", name .. "1", name .. "2"))
  end)

  it("may be of a semaphore", function()
    local permits = client:semaphore(name, 2, { permits = 2 })

    assert.is_true(answers(permits:acquire_start(0)))
    assert.is_true(answers(permits:set_limit_start(5)))
    assert.same(client:inspect_semaphore(name).limit, 5)
    local info = answers(client:inspect_semaphore_start(name))
    assert.same({ 5, 2, permits.token },
      { info.limit, info.used, info.holders[1].token })
    assert.is_true(answers(permits:release_start()))
    assert.has_error(function() permits:set_limit_start(0) end)
  end)

  it("may be of an election and its observers", function()
    local candidate = client:election(name, { value = "here" })
    local observer = assert(candidate:observe())

    assert.is_true(answers(candidate:campaign_start(0)))
    assert.is_true(candidate.is_leader)
    assert.same({ "here", candidate.term }, { answers(observer:next_start(0)) })
    assert.is_true(answers(candidate:proclaim_start("there")))
    assert.equal("there", answers(candidate:leader_start()))
    assert.same({ "there", candidate.term }, { answers(observer:next_start()) })
    assert.is_true(answers(candidate:renew_start()))
    assert.equal(candidate.term, answers(candidate:inspect_start()).term)
    assert.is_true(answers(candidate:resign_start()))
    assert.is_false(answers(candidate:leader_start()))
  end)

  it("may be a guard's, or the client's own", function()
    local guard, lock = client:guard(name .. "value"), client:lock(name)
    assert.is_true(answers(lock:acquire_start(0)))

    assert.is_true(answers(guard:set_start("17", lock.fence)))
    assert.same({ value = "17", fence = lock.fence }, answers(guard:get_start()))
    local late = answers(guard:set_start("18", lock.fence - 1))
    assert.is_nil(late)
    assert.is_true(answers(guard:remove_start()))
    assert.same({ fence = 0 }, answers(guard:get_start(0)))

    assert.is_true(answers(client:ping_start()))
    assert.equal(lock.token, answers(client:inspect_start(name)).holder)
    assert.same({ name }, answers(client:ls_start(name)))
    assert.is_true(answers(client:break_lock_start(name, lock.token)))
    assert.equal("free", answers(client:inspect_start(name)).state)
  end)
end)
