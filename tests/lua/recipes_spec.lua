-- SPDX-License-Identifier: MIT
-- The well-known functions, with the keys and answers that everybody knows.

local interlock = require "interlock"
local support = require "support"

local recipes, status = interlock.recipes, interlock.status

describe("recipes", function()
  local server, client = support.served()
  local r

  before_each(function()
    server:command("FLUSHALL")
    r = recipes.bind(client)
  end)

  it("keeps lists as others do", function()
    assert.is_true(r:fifo_push("q", "a\0"))
    assert.is_true(r:filo_push("q", "b"))
    assert.equal("2", server:command("LLEN", "q"))
    assert.equal("a\0", r:fifo_pop("q"))
    assert.equal("b", r:filo_pop("q"))
    assert.is_false(r:fifo_pop("q"))
    recipes.fifo_queue_push(client, "q", "1")
    recipes.fifo_queue_push(client, "q", "2")
    assert.equal("1", recipes.fifo_queue_pop(client, "q"))
  end)

  it("tells a failure from an empty list", function()
    server:command("SET", "q", "x")

    local got, _, code = r:fifo_pop("q")

    assert.is_nil(got)
    assert.equal(status.ILK_ETYPE, code)
  end)

  it("keeps a message in the cache until it is handled", function()
    r:safe_fifo_push("q", "a")
    r:safe_fifo_push("q", "b")
    assert.equal("a", r:safe_fifo_pop("q", "cache"))
    assert.equal("0", server:command("LLEN", "cache"))

    assert.has_error(function()
      r:safe_fifo_pop("q", "cache", function()
        error("too hard", 0)
      end)
    end, "too hard")

    assert.equal("b", server:command("LINDEX", "cache", "0"))
    assert.equal(1, r:safe_fifo_restore("q", "cache"))
    assert.equal("b", r:safe_fifo_pop("q", "cache", function() end))
    assert.is_false(r:safe_fifo_pop("q", "cache"))
  end)

  it("gives each delayed task to one caller", function()
    recipes.delayed_queue_push(client, "z", "now", 0)
    recipes.delayed_queue_push(client, "z", "then", 60000)

    assert.same({ "now" }, recipes.delayed_queue_pop(client, "z"))
    assert.same({}, recipes.delayed_queue_pop(client, "z"))
  end)

  it("gives as many permits as the limit says", function()
    local one = recipes.acquire_fair_semaphore(client, "s", 1)
    assert.equal(36, #one)
    assert.is_false(recipes.acquire_fair_semaphore(client, "s", 1))
    assert.is_true(recipes.refresh_fair_semaphore(client, "s", one))
    assert.is_true(recipes.release_fair_semaphore(client, "s", one))
    assert.is_false(recipes.release_fair_semaphore(client, "s", one))
    assert.is_false(recipes.refresh_fair_semaphore(client, "s", one))
    local mine = recipes.acquire_lock(client, "s", 0)
    assert.is_false(recipes.acquire_semaphore_with_lock(client, "s", 1))
    assert.is_true(recipes.release_lock(client, "s", mine))
    assert.is_false(recipes.release_lock(client, "s", mine))
    support.await(5000, function() -- it has 10 ms for its lock
      return recipes.acquire_semaphore_with_lock(client, "s", 1)
    end)
  end)

  it("gives the semaphore's lock back when an argument is wrong", function()
    assert.has_error(function()
      recipes.acquire_semaphore_with_lock(client, "s", nil)
    end)
    local mine = recipes.acquire_lock(client, "s", 0)
    assert.is_string(mine)
    assert.is_true(recipes.release_lock(client, "s", mine))
  end)

  it("has one master at a time", function()
    local other = recipes.bind(assert(interlock.connect(server.url)))
    assert.is_true(r:master())
    assert.is_false(other:master())
    assert.is_true(r:master())
    assert.equal(2, r.local_selector)
    r.local_selector = 0
    assert.is_false(r:master())
  end)

  it("waits for a signal and counts its receivers", function()
    assert.equal(0, r:signal_broadcast("nobody", "x"))
    local began = support.now_ms()
    assert.is_false(r:wait("nobody", 50))
    assert.is_true(support.now_ms() - began >= 50)
    local program = ([[
      local interlock = require "interlock"
      local r = interlock.recipes.bind(interlock.connect("%s"))
      repeat until r:signal_single("jobs:", "go") == 1
    ]]):format(server.url)
    os.execute(("%s -e '%s' &"):format(support.interpreter(), program))
    local heard = assert(r:wait_single("jobs:", "me", 10000))
    assert.same({ type = "message", channel = "jobs:me", data = "go" }, heard)
  end)

  it("consumes lists in their order and settles", function()
    local taker = assert(recipes.consumer(client, { "high", "low" }))
    server:command("RPUSH", "low", "sweep")
    server:command("RPUSH", "high", "extinguish")
    local queue, message = taker:pop(0)
    assert.same({ "high", "extinguish" }, { queue, message })
    local _, _, code = taker:pop(0)
    assert.equal(status.ILK_EHELD, code)
    assert.is_true(taker:done())
    assert.equal("low", taker:pop(0))
    assert.is_true(taker:put_back())
    assert.equal("low", taker:pop(0))
    assert.is_true(taker:bury())
    assert.equal("sweep", server:command("LINDEX", "ilk:recipes:dead:{low}", "0"))
    assert.is_false(taker:pop(20))
    assert.is_true(taker:leave())
  end)

  it("calls what a message names, and buries what nobody knows", function()
    for _, message in ipairs { "add 1 2", "??", "who 1", "add 3 4" } do
      server:command("RPUSH", "jobs", message)
    end
    local sums = {}
    local function decode(message)
      local name, a, b = message:match("^(%a+) (%d+) ?(%d*)$")
      return assert(name), { tonumber(a), tonumber(b) }
    end
    local calls = {
      add = function(a, b)
        sums[#sums + 1] = a + b
      end,
    }

    assert.is_true(recipes.worker_watch_queue(client, "jobs", calls, decode,
      function()
        return #sums == 2
      end))

    assert.same({ 3, 7 }, sums)
    assert.equal("2", server:command("LLEN", "ilk:recipes:dead:{jobs}"))
    server:command("RPUSH", "jobs", "add 5")
    assert.has_error(function()
      recipes.worker_watch_queue(client, "jobs", calls, decode, function()
        return false
      end)
    end)
    assert.equal("3", server:command("LLEN", "ilk:recipes:dead:{jobs}"))
  end)

  it("buries a message whose arguments are none", function()
    local left = 1
    server:command("RPUSH", "badly", "add")
    assert.is_true(recipes.worker_watch_queue(client, "badly", { add = print },
      function(message)
        left = 0
        return message, nil
      end,
      function()
        return left == 0
      end))
    assert.equal("1", server:command("LLEN", "ilk:recipes:dead:{badly}"))
  end)

  it("refuses wrong arguments in the caller's line", function()
    for _, call in ipairs {
      function() r:fifo_push(1, "x") end,
      function() r:wait("c", -1) end,
      function() recipes.consumer(client, "q") end,
      function() recipes.worker_watch_queue(client, "q", {}, nil) end,
    } do
      assert.has_error(call)
    end
  end)
end)
