-- SPDX-License-Identifier: MIT
-- Elections: who leads, in which term, and who is notified.

local interlock = require "interlock"
local support = require "support"

local status = interlock.status

describe("an election", function()
  local server, client, other = support.served({}, { label = "the-other" })
  local name

  before_each(function()
    name = support.name()
  end)

  it("has one leader, who publishes", function()
    local mine = client:election(name, { value = "a\0b" })
    local theirs = other:election(name)

    assert.is_false(theirs:leader())
    assert.is_true(mine:campaign(0))
    assert.is_true(mine.is_leader)
    assert.is_true(mine.term > 0)
    assert.is_true(mine:remaining_ms() > 15000)
    assert.equal("a\0b", theirs:leader())
    assert.equal(status.ILK_EBUSY, select(3, theirs:campaign(0)))
    assert.equal(status.ILK_ETIMEOUT, select(3, theirs:campaign(20)))
    assert.is_true(mine:campaign())
    assert.is_true(mine:resign())
    assert.equal(status.ILK_ENOTOWNER, select(3, mine:resign()))
    assert.is_false(theirs:leader())
    assert.is_true(theirs:campaign(0))
    assert.is_true(theirs.term > mine.term)
    assert.is_true(theirs:resign())
  end)

  it("lets its leader publish something else", function()
    local mine = client:election(name, { value = "old" })
    assert.equal(status.ILK_ENOTOWNER, select(3, mine:proclaim("x")))
    assert.is_true(mine:with(function(one)
      assert.is_true(one:proclaim("new"))
      local found = assert(other:election(name):inspect())
      assert.equal("new", found.value)
      assert.equal(one.term, found.term)
      assert.same({}, found.candidates)
      assert.equal(0, found.waiting)
      assert.is_true(found.since_ms > 0 and found.ttl_ms > 15000)
    end, 0))
    assert.is_false(mine.is_leader)
  end)

  it("is led on by the same identity in the same term", function()
    local before = client:election(name, { identity = "n 1", value = "1" })
    local after = other:election(name, { identity = "n 1", value = "2" })
    assert.is_true(before:campaign(0))

    assert.is_true(after:campaign(0))

    assert.equal(before.term, after.term)
    assert.equal("2", client:election(name):leader())
    assert.equal("the-other", after:inspect().label)
    assert.equal(status.ILK_ELOST, select(3, before:renew()))
    assert.is_true(after:resign())
  end)

  it("ends with the lease when it is not renewed", function()
    local mine = client:election(name, { ttl_ms = 1000, renew = false })
    assert.is_true(mine:campaign(0))
    assert.is_true(mine:renew(1200))

    assert.is_true(other:election(name):campaign(5000))

    assert.is_false(mine.is_leader)
    assert.equal(status.ILK_ELOST, select(3, mine:check()))
  end)

  it("tells observers each change", function()
    local mine = client:election(name, { value = "1" })
    local observer = assert(other:election(name):observe { vacant = true })
    assert.same({ false, 0 }, { observer:next(0) })
    assert.equal(status.ILK_EBUSY, select(3, observer:next(0)))
    assert.equal(status.ILK_ETIMEOUT, select(3, observer:next(20)))
    assert.is_true(mine:campaign(0))
    assert.same({ "1", mine.term }, { observer:next(2000) })
    assert.is_true(mine:proclaim("2"))
    assert.same({ "2", mine.term }, { observer:next(2000) })
    assert.is_true(mine:resign())
    assert.same({ false, mine.term }, { observer:next(2000) })
    assert.is_true(observer:cancel())
  end)

  it("is observed by a loop that ends with the client", function()
    local own = assert(interlock.connect(server.url))
    local mine = client:election(name, { value = "boss" })
    assert.is_true(mine:campaign(0))
    local seen = {}

    for value, term in own:election(name):observe() do
      seen[#seen + 1] = value .. " " .. term
      own:close()
    end

    assert.same({ "boss " .. mine.term }, seen)
    assert.is_true(mine:resign())
  end)

  it("tells by notifications who won and lost", function()
    local own = assert(interlock.connect(server.url))
    local notifications = assert(own:notifications())
    local mine = own:election(name, { ttl_ms = 1500 })
    assert.is_true(mine:campaign(0))
    support.await_notification(notifications, "leadership_won")
    server:command("DEL", "ilk:election:{" .. name .. "}")

    local lost = support.await_notification(notifications, "leadership_lost")

    assert.equal(mine, lost.lock)
    assert.equal("ILK_ELOST", lost.status)
    own:close()
  end)

  it("refuses what makes no sense", function()
    local bad = {
      { ttl_ms = 0 }, { value = 5 }, { value = ("x"):rep(65537) },
      { identity = "" }, { identity = ("x"):rep(65) }, { fair = true },
    }
    for i = 1, #bad do
      assert.has_error(function()
        client:election(name, bad[i])
      end)
    end
    assert.has_error(function()
      client:election("ilk:mine")
    end)
    assert.has_error(function()
      client:election(name):observe { sometimes = true }
    end)
    assert.has_error(function()
      client:election(name).is_leader = true
    end)
  end)
end)
