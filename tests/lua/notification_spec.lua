-- SPDX-License-Identifier: MIT
-- News of a client.

local support = require "support"

describe("notifications", function()
  local _, client = support.served()

  it("has a descriptor and no notification at first", function()
    local notifications = assert(client:notifications())

    assert.is_true(notifications.fd >= 0)
    assert.is_nil(notifications:next())
    assert.equal(0, select("#", notifications:next()) - 1)
  end)

  it("tells which lock was lost", function()
    local notifications = assert(client:notifications())
    local name = support.name()
    local lock = client:lock(name, { ttl_ms = 1500 })
    assert.is_true(lock:acquire(0))

    assert.is_true(client:break_lock(name))

    local notification = support.await_notification(notifications, "lock_lost")
    assert.equal("ILK_ELOST", notification.status)
    assert.equal(lock.id, notification.id)
    assert.equal(lock, notification.lock)
    assert.is_false(lock.held)
    for _ in notifications.next, notifications do
      error("one loss is one notification")
    end
  end)
end)
