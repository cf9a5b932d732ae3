-- SPDX-License-Identifier: MIT
-- The lock: taking, holding, giving up.

local interlock = require "interlock"
local support = require "support"

local status = interlock.status

describe("a lock", function()
  local server, client = support.served()
  local name

  before_each(function()
    name = support.name()
  end)

  it("is the key of its name, with its token", function()
    local lock = client:lock(name)

    assert.is_true(lock:acquire(0))

    assert.equal(lock.token, server:command("GET", name))
    assert.is_true(lock:release())
    assert.equal("0", server:command("EXISTS", name))
  end)

  it("excludes another handle until it is released", function()
    local first, second = client:lock(name), client:lock(name)
    assert.is_true(first:acquire(0))

    local ok, msg, code = second:acquire(0)

    assert.is_nil(ok)
    assert.equal("string", type(msg))
    assert.equal(status.ILK_EBUSY, code)
    assert.is_true(first:release())
    assert.is_true(second:acquire(0))
    assert.is_true(second.fence > first.fence)
    assert.is_true(second:release())
  end)

  it("answers true alone", function()
    local lock = client:lock(name)

    assert.equal(1, select("#", lock:acquire(0)))
    assert.is_true(lock:release())
    assert.equal(1, select("#", client:election(name):campaign(0)))
    assert.equal(1, select("#", client:semaphore(name, 2):acquire(0)))
  end)

  it("waits no longer than its timeout", function()
    local first, second = client:lock(name), client:lock(name)
    assert.is_true(first:acquire(0))
    local before = support.now_ms()

    local ok, _, code = second:acquire(120.5)

    local took = support.now_ms() - before
    assert.is_nil(ok)
    assert.equal(status.ILK_ETIMEOUT, code)
    local most = 120 + support.patience(240)
    assert.is_true(took >= 121 and took < most, "took " .. took)
    assert.is_true(first:release())
  end)

  it("is had by who waits when the lease before it ends", function()
    local first = client:lock(name, { ttl_ms = 150, renew = false })
    local second = client:lock(name)
    assert.is_true(first:acquire(0))

    assert.is_true(second:acquire(5000))

    assert.is_false(first.held)
    local ok, _, code = first:release()
    assert.is_nil(ok)
    assert.equal(status.ILK_ELOST, code)
    assert.is_true(second.held)
    assert.is_true(second:release())
  end)

  it("waits for ever without a timeout", function()
    local lock = client:lock(name)
    server:command("SET", name, "theirs", "PX", 700)
    local before = support.now_ms()

    assert.is_true(lock:acquire())

    assert.is_true(support.now_ms() - before >= 600)
    assert.is_true(lock:release())
  end)

  it("tells held, fence, token, id, name and what is left", function()
    local lock = client:lock(name, { ttl_ms = 20000 })
    assert.is_false(lock.held)
    assert.equal(0, lock.fence)
    assert.equal("", lock.token)
    assert.equal(0, lock:remaining_ms())

    assert.is_true(lock:acquire(0))

    assert.is_true(lock.held)
    assert.is_true(lock.fence > 1e15)
    assert.is_true(#lock.token >= 16)
    assert.is_true(lock.id > 0)
    assert.equal(name, lock.name)
    local left = lock:remaining_ms()
    assert.is_true(left > 10000 and left <= 20000)
    assert.is_truthy(tostring(lock):find("held, %d+ ms left"))
    assert.is_true(lock:release())
    assert.is_truthy(tostring(lock):find("not held"))
  end)

  it("has integers where Lua has them", function()
    local lock = client:lock(name)
    assert.is_true(lock:acquire(0))

    assert.equal(server:command("HGET", "ilk:lock:fence:{" .. name .. "}",
      "fence"), ("%d"):format(lock.fence))

    if math.type then
      assert.equal("integer", math.type(lock.fence))
      assert.equal("integer", math.type(lock.id))
      assert.equal("integer", math.type(lock:remaining_ms()))
      assert.equal("integer", math.type(select(3, lock:acquire(0))))
    end
    assert.is_true(lock:release())
  end)

  it("takes a lease for one acquire, and extends it", function()
    local lock = client:lock(name, { ttl_ms = 60000 })

    assert.is_true(lock:acquire(0, 2000))

    assert.is_true(lock:remaining_ms() <= 2000)
    assert.is_true(lock:extend(9000))
    assert.is_true(lock:remaining_ms() > 8000)
    assert.is_true(lock:extend())
    assert.is_true(lock:remaining_ms() > 50000)
    assert.is_true(lock:release())
  end)

  it("goes to another handle by its token", function()
    local donor, heir = client:lock(name), client:lock(name)
    assert.is_true(donor:acquire(0))
    local fence = donor.fence

    local token = assert(donor:detach())

    assert.is_false(donor.held)
    assert.is_true(heir:adopt(token))
    assert.equal(fence, heir.fence)
    assert.is_true(heir:check())
    assert.is_true(heir:release())
    local ok, _, code = donor:adopt(token)
    assert.is_nil(ok)
    assert.equal(status.ILK_ELOST, code)
  end)

  it("answers a second release and a second acquire", function()
    local lock = client:lock(name)
    assert.equal(status.ILK_ENOTOWNER, select(3, lock:release()))
    assert.equal(status.ILK_ENOTOWNER, select(3, lock:check()))
    assert.is_true(lock:acquire(0))

    assert.equal(status.ILK_EHELD, select(3, lock:acquire(0)))

    assert.is_true(lock:release())
    assert.equal(status.ILK_ENOTOWNER, select(3, lock:release()))
    assert.is_true(lock:cancel())
  end)

  it("counts when it is reentrant", function()
    local lock = client:lock(name, { reentrant = true })

    assert.is_true(lock:acquire(0))
    assert.is_true(lock:acquire(0))
    assert.is_true(lock:release())

    assert.is_true(lock.held)
    assert.is_true(lock:release())
    assert.is_false(lock.held)
    assert.equal("0", server:command("EXISTS", name))
  end)

  it("lies as Redisson's hash by its option", function()
    local lock = client:lock(name, { layout = "redisson" })

    assert.is_true(lock:acquire(0))

    assert.equal("hash", server:command("TYPE", name))
    assert.equal("redisson", client:inspect(name).state)
    assert.equal(status.ILK_ETYPE, select(3, client:lock(name):acquire(0)))
    assert.is_true(lock:release())
  end)

  it("is kept by renewal for longer than its lease, or not", function()
    local kept = client:lock(name, { ttl_ms = 1500 })
    local left = client:lock(name .. "-", { ttl_ms = 150, renew = false })
    assert.is_true(kept:acquire(0))
    assert.is_true(left:acquire(0))

    support.sleep_ms(2000)

    assert.is_true(kept.held)
    assert.is_true(kept:check())
    assert.is_false(left.held)
    assert.equal(status.ILK_ELOST, select(3, left:check()))
    assert.is_true(kept:release())
  end)

  it("takes any bytes as its name", function()
    for _, bytes in ipairs { "\0", "\r\n", "\255\254", "{}", "x}{t", "a\0b" } do
      local lock = client:lock(name .. bytes)
      local other = client:lock(name .. bytes .. "\0")

      assert.is_true(lock:acquire(0))
      assert.is_true(other:acquire(0))

      assert.equal(lock.token, server:command("GET", name .. bytes))
      assert.equal(lock.token, client:inspect(name .. bytes).holder)
      assert.is_true(lock:release())
      assert.is_true(other:release())
    end
  end)

  it("is respected when another library holds it", function()
    server:command("SET", name, "theirs", "NX", "PX", 10000)

    assert.equal(status.ILK_EBUSY, select(3, client:lock(name):acquire(0)))

    assert.equal("foreign", client:inspect(name).state)
    server:command("DEL", name)
    assert.is_true(client:lock(name):acquire(0))
  end)
end)
