-- SPDX-License-Identifier: MIT
-- A guarded value refuses reads and writes under an older fence.

local interlock = require "interlock"
local support = require "support"

local status = interlock.status

describe("a guard", function()
  local _, client = support.served()
  local guard

  before_each(function()
    guard = interlock.guard(client, support.name())
  end)

  it("keeps bytes and the fence they were written under", function()
    assert.is_nil(guard:get().value)
    assert.equal(0, guard:get().fence)
    local fence = 2 ^ 53 - 2

    assert.is_true(guard:set("a\0b\r\n\255", fence))

    local found = assert(guard:get())
    assert.equal("a\0b\r\n\255", found.value)
    assert.equal(fence, found.fence)
    assert.is_true(guard:set("", 0))
    assert.equal("", guard:get().value)
    assert.equal(fence, guard:get().fence)
  end)

  it("refuses the late write of a lock that was lost", function()
    local name = support.name()
    local late, next_one = client:lock(name), client:lock(name)
    assert.is_true(late:acquire(0))
    assert.is_true(client:break_lock(name))
    assert.is_true(next_one:acquire(0))
    assert.is_true(guard:set("new", next_one.fence))

    local ok, _, code = guard:set("old", late.fence)

    assert.is_nil(ok)
    assert.equal(status.ILK_ESTALE, code)
    assert.equal("new", guard:get().value)
    assert.is_true(next_one:release())
  end)

  it("refuses the late write between the next one's read and write", function()
    local name = support.name()
    local frozen, next_one = client:lock(name), client:lock(name)
    assert.is_true(guard:set("10", 0))
    assert.is_true(frozen:acquire(0))
    assert.equal("10", guard:get(frozen.fence).value)
    assert.is_true(client:break_lock(name))
    assert.is_true(next_one:acquire(0))

    local found = assert(guard:get(next_one.fence))
    assert.equal("10", found.value)
    assert.equal(next_one.fence, found.fence)

    local ok, _, code = guard:set("9", frozen.fence)
    assert.is_nil(ok)
    assert.equal(status.ILK_ESTALE, code)
    assert.is_true(guard:set("9", next_one.fence))
    assert.equal("9", guard:get(0).value)
    assert.is_true(next_one:release())
  end)

  it("refuses to be read under an older fence", function()
    assert.is_true(guard:set("x", 7))

    local found, msg, code = guard:get(6)

    assert.is_nil(found)
    assert.is_truthy(msg:find("7", 1, true))
    assert.equal(status.ILK_ESTALE, code)
    assert.equal(7, guard:get().fence)
  end)

  it("is removed", function()
    assert.is_true(guard:set("x", 7))

    assert.is_true(guard:remove())

    assert.is_nil(guard:get().value)
    assert.equal(0, guard:get().fence)
  end)
end)
