-- SPDX-License-Identifier: MIT
-- The worker from Lua: retries, dead letters, its end.

local interlock = require "interlock"
local support = require "support"

local status = interlock.status

describe("a worker", function()
  local _, client = support.served()
  local name, queue

  before_each(function()
    name = support.name()
    queue = assert(client:queue(name))
  end)

  it("calls a function for each message", function()
    queue:push_many({ "a", "b", "c" })
    local worker = assert(client:worker({ name }, { batch = 2 }))
    local seen = {}

    assert.equal(3, worker:run(function(job) seen[#seen + 1] = job.data end, 0))
    assert.same({ "a", "b", "c" }, seen)
    assert.equal(3, queue:inspect().finished)
    assert.equal(0, worker:lost())
  end)

  it("tries again what failed, until that is enough", function()
    queue:push("a")
    local worker = assert(client:worker({ name },
      { backoff_ms = 20, queue = { max_attempts = 2 } }))

    assert.equal(0, worker:run(function() error("it broke", 0) end, 500))
    assert.equal(2, worker.failed)
    assert.equal("it broke", queue:peek("dead")[1].reason)
  end)

  it("stops after the current message and gives the rest back", function()
    queue:push_many({ "a", "b", "c" })
    local worker = assert(client:worker({ name }, { batch = 3 }))

    assert.equal(1, worker:run(function() worker:stop() end))
    assert.equal(2, queue:size())
    assert.equal("b", queue:peek()[1].data)
    assert.equal(0, queue:peek()[1].attempts)
    assert.equal(status.ILK_ECANCELLED, select(3, worker:next(0)))
  end)

  it("buries what nobody can work on", function()
    queue:push("a")
    local worker = assert(client:worker({ name }))
    assert(worker:next(0))
    assert.is_true(worker:bury("no idea"))
    assert.equal(status.ILK_ENOTOWNER, select(3, worker:succeed()))
    assert.is_true(worker:finish())
    assert.equal("no idea", queue:peek("dead")[1].reason)
  end)

  it("refuses what makes no sense", function()
    assert.has_error(function() client:worker(name) end)
    assert.has_error(function() client:worker({ name }, { batch = 1000 }) end)
    assert.has_error(function() client:worker({ name }, { colour = 1 }) end)
  end)
end)
