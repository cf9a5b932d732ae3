-- SPDX-License-Identifier: MIT
-- Each method that can be started: it answers what the other one would.

local interlock = require "interlock"
local core = require "interlock.core"
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

  local function answers(...)
    return started.answer(notifications, ...)
  end

  local function waiting(kind, count)
    support.await(10000, function()
      notifications:next()
      local key = ("ilk:%s:wait:{%s}"):format(kind, name)
      return server:command("ZCARD", key) == tostring(count)
    end)
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
    assert.equal(status.ILK_ENOTOWNER,
      select(3, answers(client:break_election_start(name))))
    assert.equal("free", answers(client:inspect_start(name)).state)
  end)

  it("may be an event's", function()
    local event, theirs = client:event(name), other:event(name)

    local op = assert(event:wait_start())
    waiting("event", 1)
    local generation = assert(theirs:set("ready"))

    assert.equal(generation, answers(op))
    assert.same({ true, "ready" }, { event.is_set, event.data })
    op = assert(event:wait_change_start(generation))
    waiting("event", 1)
    assert.is_true(theirs:clear() > generation)
    assert.is_true(answers(op) > generation)
    assert.is_false(event.is_set)
    generation = answers(event:set_start("again"))
    assert.equal(generation, answers(event:read_start()))
    assert.is_true(answers(event:clear_start()) > generation)
    assert.equal(status.ILK_EBUSY, select(3, answers(event:wait_start(0))))
  end)

  it("may be a register's", function()
    local register, theirs = client:register(name), other:register(name)

    local op = assert(register:wait_start(0))
    waiting("register", 1)
    local version = assert(theirs:set("one"))

    assert.same({ version, "one" }, { answers(op) })
    assert.same({ version, "one" }, { answers(register:get_start()) })
    version = answers(register:cas_start(version, "two"))
    assert.equal(status.ILK_ESTALE,
      select(3, answers(register:cas_start(version - 1, "no"))))
    assert.is_true(answers(register:delete_start(version)))
    assert.equal(status.ILK_ESTALE, select(3, answers(register:delete_start())))
    assert.is_true(answers(register:set_start("three")) > version)
    assert.equal(status.ILK_EBUSY,
      select(3, answers(register:wait_start(register.version, 0))))
  end)

  it("may be a kv's, or a move", function()
    local kv = client:kv(name)

    assert.is_nil((answers(kv:get_start "k")))
    local version = answers(kv:put_start("k", "one"))
    assert.same({ "one", version }, { answers(kv:get_start "k") })
    assert.is_true(answers(kv:put_start("k", "two", { fast = true })) > version)
    assert.is_true(answers(kv:delete_start "k") > version)
    assert.is_nil((answers(kv:get_start "k")))
    local progress = answers(client:kv_move_start())
    assert.is_true(progress.done)
    assert.equal(status.ILK_EINVAL, select(3, client:kv_move_start(progress)))
  end)

  it("may be a latch's or a barrier's", function()
    local latch, phase = client:latch(name, 3), client:barrier(name, 2)

    local op = assert(client:latch(name, 3):wait_start())
    assert.equal(1, answers(latch:count_down_start(2)))
    assert.equal(1, answers(latch:count_start()))
    assert.same({ count = 3, left = 1 }, answers(client:inspect_latch_start(name)))
    assert.equal(0, answers(latch:count_down_start()))
    assert.is_true(answers(op))
    assert.is_true(answers(latch:reset_start()))
    assert.equal(3, latch:count())

    op = assert(phase:wait_start())
    waiting("barrier", 1)
    assert.equal(1, answers(client:barrier(name, 2):waiting_start()))
    assert.same({ parties = 2, waiting = 1 },
      answers(client:inspect_barrier_start(name)))
    assert.equal(1, other:barrier(name, 2):wait())
    assert.equal(0, answers(op))
    op = assert(phase:wait_start())
    waiting("barrier", 1)
    assert.is_true(answers(client:barrier(name, 2):reset_start()))
    assert.equal(status.ILK_EBROKEN, select(3, answers(op)))
  end)

  it("may be a signal's", function()
    local door, theirs = client:signal(name), other:signal(name)

    local op = assert(door:wait_start())
    waiting("signal", 1)
    assert.equal(1, theirs:notify_one("come"))
    assert.same({ "come", name }, { answers(op) })
    assert.is_true(answers(door:listen_start()))
    assert.equal(1, answers(client:inspect_signal_start(name)))
    assert.equal(1, answers(client:signal(name):notify_all_start("all")))
    assert.same({ "all", name }, { answers(door:wait_start()) })
    assert.equal(0, answers(client:signal(name):notify_one_start()))
    assert.equal(status.ILK_ETIMEOUT, select(3, answers(door:wait_start(1))))
  end)

  it("may be a wait for any or all of several signals", function()
    local one, two = client:signal(name), client:signal(name .. "2")
    local given = { one, two }

    local op = assert(interlock.wait_any_start(given, 5000))
    waiting("signal", 1)
    given[1], given[2] = nil, nil
    other:signal(name .. "2"):notify_one("second")
    assert.same({ two, "second" }, { answers(op) })
    op = assert(interlock.wait_all_start({ one, two }))
    waiting("signal", 1)
    other:signal(name):notify_all("first")
    other:signal(name .. "2"):notify_all("last")
    local came = answers(op)
    assert.same({ "first", "last" }, { came[one], came[two] })
    assert.has_error(function() interlock.wait_any_start {} end)
  end)

  it("may put messages into a queue, and look at them", function()
    local queue = client:queue(name)

    assert.equal(1, answers(queue:push_start("a")))
    assert.equal(2, answers(queue:push_many_start { "b", "c" }))
    assert.equal(3, answers(queue:size_start()))
    assert.equal("b", answers(queue:peek_start("ready", 1, 1))[1].data)
    assert.same(queue:inspect().pushed, answers(queue:inspect_start()).pushed)
    assert.is_true(assert(queue:reserve(0)):bury("no"))
    assert.equal(1, answers(queue:requeue_start()))
    assert.equal(3, answers(queue:purge_start()))
    assert.equal(0, answers(queue:size_start()))
    assert.has_error(function() queue:push_start("d", { late = true }) end)
    assert.has_error(function() queue:peek_start("nowhere") end)
  end)

  it("may take messages out, and finish them", function()
    local queue = client:queue(name)

    local op = assert(queue:pop_start())
    waiting("queue", 1)
    other:queue(name):push_many { "a", "b", "c", "d", "e" }
    assert.equal("a", answers(op))
    local job = answers(queue:reserve_start(0, 2000))
    assert.same({ "b", 1 }, { job.data, job.attempts })
    assert.is_true(answers(job:extend_start(9000)))
    assert.is_true(job:remaining_ms() > 8000)
    assert.is_true(answers(job:nack_start()))
    job = answers(queue:reserve_start(0))
    assert.same({ "b", 2 }, { job.data, job.attempts })
    assert.is_true(answers(job:ack_start()))
    job = answers(queue:reserve_start(0))
    assert.is_true(answers(job:bury_start("bad")))
    local batch = answers(queue:reserve_many_start(9, 0))
    assert.same({ 2, "d", "e" }, { #batch, batch[1].data, batch[2].data })
    assert.is_true(answers(batch:ack_start()))
    assert.equal(status.ILK_EBUSY, select(3, answers(queue:reserve_start(0))))
    assert.equal("bad", queue:peek("dead")[1].reason)
  end)

  it("leaves what it lends when it is closed", function()
    local queue = client:queue(name)
    queue:push_many { "a", "b" }
    local op = assert(queue:reserve_many_start(2, 0))
    local batch = answers(op)

    batch[1], batch[2] = nil, nil -- which would keep it
    collectgarbage()
    collectgarbage()
    op:close()
    local others = {} -- what would lie where it lay
    for size = 64, 2048 do
      others[size] = ("x"):rep(size)
    end

    assert.equal(64, #others[64])
    assert.equal(0, batch:lost())
    assert.is_true(batch:ack())
    assert.equal(0, queue:inspect().taken)
  end)

  it("tells nothing when it is closed, though it had ended", function()
    local queue = client:queue(name)
    queue:push("a")
    local first, second = client:ping_start(), client:ping_start()
    local op = assert(queue:peek_start())
    support.await(10000, function() -- behind its answer the others are sent
      return (notifications:next() or {}).id == first.id
    end)
    support.sleep_ms(100)
    assert.equal(second.id, notifications:next().id)
    assert.is_true(op.done)
    local batch = op:result()

    op:close()

    for notification in notifications.next, notifications do
      assert.equal("kept", notification.kind) -- of a lock of another test
    end
    assert.equal("a", batch[1].data)
  end)

  it("gives back a grant that nobody reads", function()
    local queue = client:queue(name)
    queue:push("a")
    local op = assert(queue:reserve_start(0))
    started.finish(notifications, op)
    assert.equal(0, queue:size())

    op:close()

    support.await(10000, function()
      notifications:next()
      return queue:size() == 1
    end)
    assert.equal(1, queue:reserve(0).attempts)
  end)

  it("may be all that the core can start", function()
    local here = debug.getinfo(1, "S").source:match("^@(.*)/[^/]*$") or "."
    local text = support.output("cat " .. here .. "/../../lua/interlock/*.lua")
    local missing, count = {}, 0
    for function_name in pairs(core) do
      local verb = function_name:match("^ilk_(.*)_start$")
      if verb then
        count = count + 1
        verb = verb:gsub("^lock_many_", ""):gsub("^%a+_", "")
        local named = text:find("core." .. function_name, 1, true)
        local by_verb = text:find('hold.start(self, "' .. verb .. '"', 1, true)
        if not named and not by_verb then
          missing[#missing + 1] = function_name
        end
      end
    end

    assert.is_true(count > 60, "found " .. count)
    assert.same({}, missing)
  end)
end)
