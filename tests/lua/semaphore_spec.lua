-- SPDX-License-Identifier: MIT
-- Permits that a limited number of owners hold.

local interlock = require "interlock"
local support = require "support"

local status = interlock.status

describe("a semaphore", function()
  local server, client = support.served({ label = "me" })
  local name

  before_each(function()
    name = support.name()
  end)

  it("lets in as many as its limit says", function()
    local one, two = client:semaphore(name, 2), client:semaphore(name, 2)
    local three = client:semaphore(name, 2)

    assert.is_true(one:acquire(0))
    assert.is_true(two:acquire(0))

    assert.equal(status.ILK_EBUSY, select(3, three:acquire(0)))
    assert.equal(status.ILK_ETIMEOUT, select(3, three:acquire(60)))
    assert.is_true(two.fence > one.fence)
    assert.is_true(one:release())
    assert.is_true(three:acquire(1000))
    assert.is_true(three.held)
    assert.equal(2, three.limit)
  end)

  it("shows its holders as an inspection of any kind does", function()
    local permit = client:semaphore(name, 2)
    assert(permit:acquire())

    local own = assert(client:inspect_semaphore(name)).holders[1]
    local all = assert(client:inspect(name, "semaphore")).holders[1]

    assert.is_string(own.client)
    own.ttl_ms, all.ttl_ms = nil, nil
    assert.same(all, own)
    assert(permit:release())
  end)

  it("takes several permits together", function()
    local both = client:semaphore(name, 3, { permits = 2 })
    local more = client:semaphore(name, 3, { permits = 2 })

    assert.is_true(both:acquire(0))
    assert.equal(status.ILK_EBUSY, select(3, more:acquire(0)))
    assert.is_true(both:release())
    assert.is_true(more:acquire(0))
  end)

  it("is held while a function runs", function()
    local permit = client:semaphore(name, 2)

    local ok, used = permit:with(function()
      return assert(client:inspect_semaphore(name)).used
    end, 0)

    assert.is_true(ok)
    assert.equal(1, used)
    assert.is_false(permit.held)
  end)

  it("tells of another limit", function()
    assert.is_true(client:semaphore(name, 3):acquire(0))

    local ok, msg, code = client:semaphore(name, 4):acquire(0)

    assert.is_nil(ok)
    assert.equal(status.ILK_EDIFFERS, code)
    assert.equal("the semaphore has limit 3, this handle has 4", msg)
  end)

  it("has a limit that can be changed", function()
    local one, two = client:semaphore(name, 1), client:semaphore(name, 1)
    assert.is_true(one:acquire(0))

    assert.is_true(one:set_limit(2))

    assert.is_true(two:acquire(0))
    assert.equal(2, assert(client:inspect_semaphore(name)).limit)
  end)

  it("is handed over by its token", function()
    local donor = client:semaphore(name, 3, { permits = 3 })
    local heir = client:semaphore(name, 3)
    assert.is_true(donor:acquire(0))

    assert.is_true(heir:adopt(assert(donor:detach())))

    assert.is_false(donor.held)
    assert.is_true(heir.held)
    assert.is_true(heir:release())
    assert.equal(0, assert(client:inspect_semaphore(name)).used)
  end)

  it("is lost with a notification", function()
    local notifications = assert(client:notifications())
    local permit = client:semaphore(name, 2, { ttl_ms = 200, renew = false })
    assert.is_true(permit:acquire(0))

    local notification = support.await_notification(notifications, "semaphore_lost")

    assert.equal(permit, notification.lock)
    assert.equal(status.ILK_ELOST, select(3, permit:release()))
  end)

  it("is inspected", function()
    local two = client:semaphore(name, 4, { permits = 2, ttl_ms = 9000 })
    assert.is_true(two:acquire(0))

    local info = assert(client:inspect_semaphore(name))

    assert.equal(4, info.limit)
    assert.equal(2, info.used)
    assert.equal(two.fence, info.fence)
    assert.equal(1, info.holding)
    assert.equal(0, info.waiting)
    assert.same({}, info.waiters)
    local holder = info.holders[1]
    assert.equal("me", holder.label)
    assert.equal(two.token, holder.token)
    assert.equal(2, holder.permits)
    assert.equal(two.fence, holder.fence)
    assert.is_true(holder.ttl_ms > 5000 and holder.ttl_ms <= 9000)
    assert.is_true(holder.since_ms > 1e12)
  end)

  it("lists those who wait", function()
    assert.is_true(client:semaphore(name, 2):acquire(0))
    server:command("ZADD", "ilk:semaphore:wait:{" .. name .. "}", "1",
      "1 p other p1 token 9000 2 host:1")

    local info = assert(client:inspect_semaphore(name))

    assert.equal(1, info.waiting)
    assert.same({ { label = "host:1", client = "other", token = "token",
      permits = 2 } }, info.waiters)
  end)

  it("shows itself", function()
    local permit = client:semaphore(name, 2)

    assert.equal(("semaphore %q (not held)"):format(name), tostring(permit))
  end)
end)
