-- SPDX-License-Identifier: MIT
-- One lock over many names: all or none.

local interlock = require "interlock"
local support = require "support"

local status = interlock.status

describe("a lock over many names", function()
  local server, client = support.served()
  local a, b, c

  before_each(function()
    local name = support.name()
    a, b, c = name .. "a", name .. "b\0", name .. "c"
  end)

  it("takes all and gives all back", function()
    local many = client:lock_many({ a, b, c }, { ttl_ms = 20000 })

    assert.is_true(many:acquire(0))

    for _, name in ipairs { a, b, c } do
      assert.equal(many.token, server:command("GET", name))
    end
    assert.is_true(many.held)
    assert.is_true(many.fence > 1e15)
    assert.is_true(many:remaining_ms() > 10000)
    assert.is_true(many:check())
    assert.is_true(many:extend(9000))
    assert.same({ a, b, c }, many.name)
    assert.is_true(many:release())
    assert.equal("0", server:command("EXISTS", a, b, c))
  end)

  it("takes none when one is held", function()
    local one = client:lock(b)
    assert.is_true(one:acquire(0))
    local many = client:lock_many { a, b, c }

    assert.equal(status.ILK_EBUSY, select(3, many:acquire(0)))
    assert.equal(status.ILK_ETIMEOUT, select(3, many:acquire(60)))

    assert.equal("0", server:command("EXISTS", a, c))
    assert.is_true(one:release())
    assert.is_true(many:with(function(held)
      assert.is_true(held.fence > one.fence)
    end, 1000))
  end)
end)
