-- SPDX-License-Identifier: MIT
-- News of a client.

local support = require "support"

describe("events", function()
  local _, client = support.served()

  it("has a descriptor and nothing to tell at first", function()
    local events = assert(client:events())

    assert.is_true(events.fd >= 0)
    assert.is_nil(events:next())
    assert.equal(0, select("#", events:next()) - 1)
  end)

  it("tells which lock was lost", function()
    local events = assert(client:events())
    local name = support.name()
    local lock = client:lock(name, { ttl_ms = 300 })
    assert.is_true(lock:acquire(0))

    assert.is_true(client:break_lock(name))

    local event
    support.await(2000, function()
      event = events:next()
      return event
    end)
    assert.equal("lock_lost", event.kind)
    assert.equal("ILK_ELOST", event.status)
    assert.equal(lock.id, event.id)
    assert.equal(lock, event.lock)
    assert.is_false(lock.held)
    for _ in events.next, events do
      error("one loss is one event")
    end
  end)
end)
