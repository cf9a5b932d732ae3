-- SPDX-License-Identifier: MIT
-- Many readers or one writer.

local interlock = require "interlock"
local support = require "support"

local status = interlock.status

describe("a read-write lock", function()
  local _, client = support.served()
  local name

  before_each(function()
    name = support.name()
  end)

  it("lets readers in together and keeps writers out", function()
    local one, two = client:rwlock(name), client:rwlock(name)

    assert.is_true(one.read:acquire(0))
    assert.is_true(two.read:acquire(0))

    assert.equal(status.ILK_EBUSY, select(3, two.write:acquire(0)))
    local info = assert(client:inspect(name))
    assert.equal("readers", info.state)
    assert.equal(2, info.readers)
    assert.is_true(one.read:release())
    assert.is_true(two.read:release())
    assert.is_true(two.write:acquire(0))
    assert.is_true(two.write:release())
  end)

  it("lets one writer in and keeps everybody else out", function()
    local rw = client:rwlock(name)
    assert.is_true(rw.write:acquire(0))

    assert.equal(status.ILK_EBUSY, select(3, rw.read:acquire(0)))
    assert.equal(status.ILK_EBUSY, select(3, client:lock(name):acquire(0)))

    assert.is_true(rw.write:release())
    assert.is_true(rw.read:with(function(held)
      assert.is_true(held.held)
    end, 0))
  end)
end)
