-- SPDX-License-Identifier: MIT
-- Holds whose objects were collected: kept, renewed, reported, taken back.

local interlock = require "interlock"
local support = require "support"

local status = interlock.status

local kinds = {
  lock = function(client, name)
    return client:lock(name)
  end,
  writer = function(client, name)
    return client:rwlock(name).write
  end,
  lock_many = function(client, name)
    return client:lock_many { name, name .. "2" }
  end,
  semaphore = function(client, name)
    return client:semaphore(name, 1)
  end,
  election = function(client, name)
    return client:election(name)
  end,
}

-- Twice: the first collection may run while an older one is under way.
local function collect()
  collectgarbage()
  collectgarbage()
end

local function hold_and_collect(make, client, name)
  local token
  do
    local hold = make(client, name)
    assert.is_true(hold:acquire(0))
    token = hold.token
  end
  collect()
  return token
end

describe("the hold of a collected object", function()
  local _, client, other = support.served({}, {})

  for kind, make in pairs(kinds) do
    it("goes on and can be taken back: " .. kind, function()
      local name = support.name()
      local token = hold_and_collect(make, client, name)

      assert.is_nil((make(other, name):acquire(0)))
      local heir = make(client, name)
      local ok, msg, code, found = heir:acquire(0)
      assert.is_nil(ok)
      assert.truthy(msg:find("was collected", 1, true))
      assert.equal(status.ILK_EHELD, code)
      assert.equal(token, found)
      assert.equal(status.ILK_EHELD, select(3, heir:acquire_start(0)))
      assert.equal(status.ILK_ELOST, select(3, heir:adopt(("0"):rep(#token))))
      assert.is_true(heir:adopt(token))
      assert.is_true(heir.held)
      collect()
      assert.is_true(heir:release())
      assert.is_true(make(other, name):acquire(5000))
    end)
  end

  it("leaves the heir's own handle with the record that it had", function()
    local name = support.name()
    local heir = client:lock_many { name }
    local record, handle = heir._record, heir._handle
    local token = hold_and_collect(function()
      return client:lock_many { name }
    end, client, name)

    assert.is_true(heir:adopt(token))
    -- The finalizer that was made first uses a handle that was made before it.
    assert.equal(handle, record.handle)
    assert.are_not.equal(record, heir._record)
    assert.equal(heir._handle, heir._record.handle)
    assert.is_true(heir:release())
  end)

  it("is renewed until the client is closed", function()
    local own = assert(interlock.connect(client.url))
    local name = support.name()
    hold_and_collect(function(of)
      return of:lock(name, { ttl_ms = 600 })
    end, own)
    local before = own:stats().renewals

    support.await(5000, function()
      return own:stats().renewals >= before + 4
    end)
    assert.is_nil((other:lock(name):acquire(0)))
    own:close()
    assert.is_true(other:lock(name):acquire(5000))
  end)

  it("ends with its lease when it is not renewed", function()
    local name = support.name()
    hold_and_collect(function(of)
      return of:lock(name, { ttl_ms = 300, renew = false })
    end, client)

    assert.is_true(client:lock(name):acquire(5000))
  end)

  it("is a notification with its name and token", function()
    local notifications = assert(client:notifications())
    for _ in notifications.next, notifications do end
    local name = support.name()
    local token = hold_and_collect(kinds.lock, client, name)

    local notification = notifications:next()
    assert.equal("kept", notification.kind)
    assert.equal(token, notification.token)
    assert.truthy(notification.text:find(name, 1, true))
    assert.is_nil(notification.lock)
    assert.is_true(client:lock(name):adopt(token))
  end)

  it("stands beside readers and free permits", function()
    local name = support.name()
    hold_and_collect(function()
      return client:rwlock(name).read
    end, client)
    assert.is_true(client:rwlock(name).read:acquire(0))
    assert.equal(status.ILK_EHELD, select(3, client:rwlock(name).write:acquire(0)))

    hold_and_collect(function()
      return client:semaphore(name .. "s", 3)
    end, client)
    local two = client:semaphore(name .. "s", 3, { permits = 2 })
    local three = client:semaphore(name .. "s", 3, { permits = 3 })
    assert.is_true(two:acquire(0))
    assert.equal(status.ILK_EHELD, select(3, three:acquire(0)))
  end)

  it("is adopted by a started call, too", function()
    local name = support.name()
    local token = hold_and_collect(kinds.lock, client, name)
    local heir = client:lock(name)
    local op = assert(heir:adopt_start(token))
    local notifications = assert(client:notifications())

    support.await(5000, function()
      for _ in notifications.next, notifications do end
      return op.done
    end)
    assert.is_true(op:result())
    assert.is_true(heir:release())
    assert.is_true(client:lock(name):acquire(0))
  end)
end)
