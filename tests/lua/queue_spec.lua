-- SPDX-License-Identifier: MIT
-- Queues from Lua: order, waits, what is refused.

local interlock = require "interlock"
local support = require "support"

local status = interlock.status

describe("a queue", function()
  local _, client = support.served()
  local name, queue

  before_each(function()
    name = support.name()
    queue = assert(client:queue(name))
  end)

  it("gives messages in the order they were pushed", function()
    assert.equal(1, queue:push("a\0\255"))
    assert.equal(2, queue:push(""))
    assert.equal(2, queue:size())

    assert.equal("a\0\255", queue:pop(0))
    assert.equal("", queue:pop(0))
    local data, msg, code = queue:pop(0)
    assert.is_nil(data)
    assert.is_string(msg)
    assert.equal(status.ILK_EBUSY, code)
  end)

  it("refuses a count of 33 bits, and does not cut it", function()
    queue:push("x")

    local batch, msg, code = queue:reserve_many(2 ^ 32 + 3, 0)

    assert.is_nil(batch)
    assert.is_truthy(msg:find("max must be 1 to 256", 1, true), msg)
    assert.equal(status.ILK_EINVAL, code)
    assert.equal(1, queue:size())
  end)

  it("has messages that another handle may finish", function()
    assert(queue:push("x"))
    local taken = assert(queue:reserve(0))
    local other = assert(client:queue(name)):adopt(taken.token)
    assert.is_true(other:ack())
    local ok, _, code = taken:ack()
    assert.is_nil(ok)
    assert.equal(status.ILK_ELOST, code)
    assert.is_nil((queue:adopt("nonsense")))
  end)

  it("gives the newest first when it is filo", function()
    local pile = assert(client:queue(name, { order = "filo" }))
    assert.equal(1, pile:push_many({ "a", "b", "c" }))
    assert.equal("c", pile:pop(0))

    local _, msg, code = queue:push("d")
    assert.equal("the queue is filo, not fifo", msg)
    assert.equal(status.ILK_EDIFFERS, code)
  end)

  it("waits for a time", function()
    local began = support.now_ms()
    local job, _, code = queue:reserve(60)
    assert.is_nil(job)
    assert.equal(status.ILK_ETIMEOUT, code)
    assert.is_true(support.now_ms() - began >= 59)

    assert(queue:push("later", { delay_ms = 80 }))
    assert.equal("later", queue:pop(5000))
  end)

  it("pushes once under a request id", function()
    local id = assert(queue:push("a", { once = "order\0 7" }))
    assert(queue:push("b"))
    assert.equal(id, queue:push("a", { once = "order\0 7" }))
    assert.equal(2, queue:size())
  end)

  it("takes from several by priority", function()
    local high = assert(client:queue(name .. "h"))
    local low = assert(client:queue(name .. "l"))
    local both = assert(client:queues({ name .. "h", name .. "l" }))
    low:push("l")
    high:push("h")

    assert.equal("h", both:pop(0))
    assert.equal("l", both:pop(0))
    assert.equal(status.ILK_EINVAL, select(3, both:push("x")))
  end)

  it("is looked at and cleared up", function()
    assert.is_nil(queue:inspect().order)
    queue:push_many({ "a", "b", "c" })
    assert(queue:reserve(0)):bury("no use")
    local info = queue:inspect()
    assert.equal("fifo", info.order)
    assert.equal(2, info.ready)
    assert.equal(1, info.dead)
    assert.equal(3, info.pushed)

    local dead = assert(queue:peek("dead"))
    assert.equal("a", dead[1].data)
    assert.equal("no use", dead[1].reason)
    assert.equal(1, queue:requeue(dead[1].id))
    assert.equal("b", queue:peek()[1].data)
    assert.equal("c", queue:peek("ready", 1, 1)[1].data)
    assert.equal(3, queue:purge("ready"))
    assert.equal(0, queue:purge())
    assert.equal(0, queue:requeue())
  end)

  it("says what is wrong in the caller's line", function()
    assert.has_error(function() client:queue(5) end)
    assert.has_error(function() client:queue("") end)
    assert.has_error(function() client:queue(name, { order = "x" }) end)
    assert.has_error(function() client:queue(name, { colour = "x" }) end)
    assert.has_error(function() client:queues({ name, name }) end)
    assert.has_error(function() queue:push(nil) end)
    assert.has_error(function() queue:push("x", { dely_ms = 1 }) end)
    assert.has_error(function() queue:pop(-1) end)
    assert.has_error(function() queue:peek("nowhere") end)
    assert.equal(status.ILK_EINVAL, select(3, queue:push(("x"):rep(2 ^ 20 + 1))))
  end)

  it("shows its name", function()
    assert.equal("queue " .. name, tostring(queue))
  end)

  it("ends waits on cancel", function()
    assert.is_true(queue:cancel())
    assert.equal(status.ILK_EBUSY, select(3, queue:pop(0)))
  end)
end)
