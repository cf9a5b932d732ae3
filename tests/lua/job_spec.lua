-- SPDX-License-Identifier: MIT
-- Messages that were taken, from Lua.

local interlock = require "interlock"
local support = require "support"

local status = interlock.status

describe("a job", function()
  local _, client = support.served()
  local queue

  before_each(function()
    queue = assert(client:queue(support.name()))
  end)

  it("is finished once", function()
    local id = queue:push("abc")
    local job = assert(queue:reserve(0, 10000))
    assert.equal(id, job.id)
    assert.equal("abc", job.data)
    assert.equal(1, job.attempts)
    assert.equal(queue.names[1], job.queue)
    assert.equal("", job.reason)
    assert.is_true(job:remaining_ms() > 9000)
    assert.is_truthy(tostring(job):find("attempt 1, 3 bytes", 1, true))

    assert.is_true(job:ack())
    assert.equal(status.ILK_ENOTOWNER, select(3, job:ack()))
  end)

  it("comes again when it is given back", function()
    queue:push("a")
    assert.is_true(queue:reserve(0):nack())
    local job = queue:reserve(0)
    assert.equal(2, job.attempts)
    assert.is_true(job:nack(100000))
    assert.is_nil((queue:pop(0)))
  end)

  it("is lost to who is late", function()
    queue:push("a")
    local late = queue:reserve(0, 40)
    support.sleep_ms(60)
    local job = assert(queue:reserve(0))

    assert.equal(status.ILK_ELOST, select(3, late:ack()))
    assert.is_true(job:ack())
  end)

  it("is kept by extending", function()
    queue:push("a")
    local job = queue:reserve(0, 50)
    assert.is_true(job:extend(20000))
    support.sleep_ms(80)
    assert.is_nil((queue:pop(0)))
    assert.is_true(job:ack())
  end)

  it("comes in batches that are acknowledged together", function()
    queue:push_many({ "a", "b", "c" })
    local first = assert(queue:reserve_many(2, 0))
    assert.equal(2, #first)
    assert.equal("b", first[2].data)
    local second = assert(queue:reserve_many(2, 0, nil, first))
    assert.equal("c", second[1].data)
    assert.is_true(second:ack())
    assert.equal(0, second:lost())
    assert.equal(3, queue:inspect().finished)
  end)
end)
