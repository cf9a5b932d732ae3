-- SPDX-License-Identifier: MIT
-- The client: opening, closing, counters, what is left when it is gone.

local interlock = require "interlock"
local support = require "support"

local status = interlock.status

describe("a client", function()
  local server, client

  setup(function()
    server = support.server()
  end)

  teardown(function()
    server:stop()
  end)

  before_each(function()
    client = assert(interlock.connect(server.url))
  end)

  after_each(function()
    client:close()
  end)

  it("answers a ping and has its URL and its id", function()
    assert.is_true(client:ping())
    assert.is_true(client:ping(1000))

    assert.is_truthy(client.url:find(server.dir, 1, true))
    assert.is_truthy(client.id:match("^%x+$"))
    assert.equal(16, #client.id)
    assert.is_truthy(tostring(client):find("client of unix://"))
  end)

  it("offers what one server keeps", function()
    assert.is_true(client:offers("lock"))
    assert.is_true(client:offers("many"))
    assert.is_true(client:offers("detach"))
    assert.has_error(function()
      client:offers("locks")
    end, "what must be the name of a primitive, got locks")
  end)

  it("counts", function()
    local before = assert(client:stats())
    assert.is_true(client:lock(support.name()):acquire(0))

    local after = assert(client:stats())

    assert.equal(before.acquires + 1, after.acquires)
    assert.is_true(after.commands > before.commands)
    if math.type then
      assert.equal("integer", math.type(after.commands))
    end
  end)

  it("has no nodes of one server", function()
    assert.same({}, client:stats().nodes)
  end)

  it("has the nodes of a quorum", function()
    local own = assert(interlock.connect("redis://a,b:7000,c?quorum", { lazy = true }))
    local nodes = own:stats().nodes
    assert.equal(3, #nodes)
    assert.equal("b:7000", nodes[2].address)
    assert.equal("connecting", nodes[2].state)
    assert.equal(-1, nodes[2].round_trip_us)
    assert.equal("", nodes[2].error)
    own:close()
  end)

  it("shows its label and obeys its time-outs", function()
    local labelled = assert(interlock.connect(server.url, {
      label = "till-7",
      connect_timeout_ms = 500,
      reply_timeout_ms = 500,
      outage_ms = 0,
      protocol = 2,
    }))
    local name = support.name()

    assert.is_true(labelled:lock(name):acquire(0))

    assert.equal("till-7", client:inspect(name).label)
    labelled:close()
  end)

  it("refuses replicas that are no servers", function()
    local ok, msg, code = interlock.connect(server.url, { listen = "a:0" })

    assert.is_nil(ok)
    assert.matches("^listen: ", msg)
    assert.equal(status.ILK_EINVAL, code)
  end)

  it("says that nobody listens", function()
    local ok, msg, code = interlock.connect("redis://127.0.0.1:1")

    assert.is_nil(ok)
    assert.equal("string", type(msg))
    assert.equal(status.ILK_ECONN, code)
  end)

  it("may be closed twice, and everything says so after", function()
    local name = support.name()
    local lock, many = client:lock(name), client:lock_many { name .. "m" }
    assert.is_true(lock:acquire(0))

    assert.is_true(client:close())
    assert.is_true(client:close())

    for _, answer in ipairs {
      { client:ping() }, { client:inspect(name) }, { client:ls() },
      { client:lock(name) }, { client:rwlock(name) }, { client:notifications() },
      { client:lock_many { name } }, { client:break_lock(name) },
      { client:guard(name):get() }, { client:guard(name):set("", 0) },
      { many:acquire(0) },
    } do
      assert.is_nil(answer[1])
      assert.equal("string", type(answer[2]))
      assert.equal("ILK_ECLOSED", status[answer[3]])
    end
    assert.is_nil((lock:release()))
    assert.is_nil((lock:acquire(0)))
  end)

  it("is collected with its handles in any order", function()
    for round = 1, 40 do
      local own = assert(interlock.connect(server.url))
      local kept = { own }
      for i = 2, 6 do
        kept[i] = own:lock(support.name())
      end
      kept[7] = own:lock_many { "a", "b" }
      kept[8] = own:rwlock("r").read
      assert.is_true(kept[2]:acquire(0))
      own = nil -- luacheck: ignore
      kept[round % 8 + 1] = nil
      collectgarbage()
      if kept[3] then
        assert.is_true(kept[3]:acquire(0))
        assert.is_true(kept[3]:release())
      end
    end
    collectgarbage()
    collectgarbage()

    support.await(2000, function()
      collectgarbage()
      local count = select(2, server:command("CLIENT", "LIST")
        :gsub("id=", ""))
      return count <= 3
    end)
  end)
end)
