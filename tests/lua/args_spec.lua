-- SPDX-License-Identifier: MIT
-- Wrong arguments are errors in the caller's own line.

local interlock = require "interlock"

-- No call of these reaches a server: nothing listens there.
local client = assert(interlock.connect("redis://127.0.0.1:1",
  { lazy = true }))
local lock = client:lock("orders")
local many = client:lock_many { "a", "b" }
local ring = interlock.ring { "a", "b" }

-- Each: what is wrong, who does it, what the message must contain.
local wrong = {
  { "a name that is a number", function() client:lock(5) end, "name" },
  { "no limit", function() client:semaphore("x") end, "limit" },
  { "a limit of 0", function() client:semaphore("x", 0) end, "limit" },
  { "a limit of 1025", function()
    client:semaphore("x", 1025)
  end, "1025" },
  { "a limit of 33 bits", function()
    client:semaphore("x", 2 ^ 32 + 5)
  end, "limit.*1024.*got 4294967301" },
  { "a new limit of 33 bits", function()
    client:semaphore("x", 3):set_limit(2 ^ 32 + 5)
  end, "limit.*got 4294967301" },
  { "half a permit", function()
    client:semaphore("x", 3, { permits = 0.5 })
  end, "permits" },
  { "no permits", function()
    client:semaphore("x", 3, { permits = 0 })
  end, "permits.*got 0" },
  { "more permits than there are", function()
    client:semaphore("x", 3, { permits = 4 })
  end, "permits.*got 4" },
  { "a new limit of 0", function()
    client:semaphore("x", 3):set_limit(0)
  end, "limit" },
  { "a new limit below the permits", function()
    client:semaphore("x", 3, { permits = 2 }):set_limit(1)
  end, "limit must be 2" },
  { "an empty name", function() client:lock("") end, "name" },
  { "a name of 513 bytes", function()
    client:lock(("x"):rep(513))
  end, "513" },
  { "a name of ours", function() client:lock("ilk:x") end, "ilk:" },
  { "options that are a number", function()
    client:lock("x", 5)
  end, "table" },
  { "an unknown option", function()
    client:lock("x", { ttl = 5 })
  end, '"ttl".*ttl_ms' },
  { "a lease of 0", function()
    client:lock("x", { ttl_ms = 0 })
  end, "ttl_ms.*got 0" },
  { "a negative lease", function()
    client:lock("x", { ttl_ms = -5 })
  end, "ttl_ms.*got %-5" },
  { "an endless lease", function()
    client:lock("x", { ttl_ms = math.huge })
  end, "ttl_ms" },
  { "a lease of two years", function()
    client:lock("x", { ttl_ms = 2 * 365 * 86400000 })
  end, "ttl_ms" },
  { "a lease that is no whole number", function()
    client:lock("x", { ttl_ms = 1500.5 })
  end, "ttl_ms.*whole milliseconds.*1500.5" },
  { "a lease of half a millisecond for one acquire", function()
    lock:acquire(0, 1000.5)
  end, "ttl_ms.*whole" },
  { "an outage that is no whole number", function()
    interlock.connect("redis://h", { lazy = true, outage_ms = 0.5 })
  end, "outage_ms.*whole milliseconds.*0.5" },
  { "a lease in words", function()
    client:lock("x", { ttl_ms = "10s" })
  end, "ttl_ms.*got 10s" },
  { "renew that is no boolean", function()
    client:lock("x", { renew = 1 })
  end, "renew" },
  { "an unknown layout", function()
    client:lock("x", { layout = "odd" })
  end, 'layout.*"plain" or "redisson".*odd' },
  { "a timeout in words", function() lock:acquire("5") end, "timeout_ms" },
  { "a negative timeout", function() lock:acquire(-1) end, "timeout_ms" },
  { "a timeout that is not a number", function()
    lock:acquire(0 / 0)
  end, "timeout_ms" },
  { "a lease of 0 for one acquire", function()
    lock:acquire(0, 0)
  end, "ttl_ms" },
  { "an extension by nothing", function() lock:extend(0) end, "ttl_ms" },
  { "adopting nothing", function() lock:adopt() end, "token" },
  { "a body that cannot be called", function() lock:with(5) end, "fn" },
  { "setting a field", function() lock.fence = 1 end, "fence" },
  { "no names", function() client:lock_many {} end, "name" },
  { "names that are a string", function()
    client:lock_many("ab")
  end, "names" },
  { "a name among names", function()
    client:lock_many { "a", 1 }
  end, "names%[2%]" },
  { "a timeout of many", function() many:acquire {} end, "timeout_ms" },
  { "an empty name to read", function() client:rwlock("") end, "name" },
  { "readers that barge", function()
    client:rwlock("x", { fair = false })
  end, "." },
  { "many in Redisson's layout", function()
    client:lock_many({ "x" }, { layout = "redisson" })
  end, "layout" },
  { "a pattern that is a table", function() client:ls {} end, "pattern" },
  { "inspecting nothing", function() client:inspect() end, "name" },
  { "breaking a number", function() client:break_lock(1) end, "name" },
  { "breaking number's term", function() client:break_election(1) end, "name" },
  { "a guarded number", function()
    client:guard("k"):set(1, 1)
  end, "value" },
  { "a broken fence", function()
    client:guard("k"):set("v", 1.5)
  end, "fence" },
  { "no fence", function() client:guard("k"):set("v") end, "fence" },
  { "a fence to read that is none", function()
    client:guard("k"):get(false)
  end, "fence" },
  { "no nodes", function() interlock.ring() end, "nodes.*nil" },
  { "a node that is a number", function()
    interlock.ring { "a", 5 }
  end, "nodes%[2%].*5" },
  { "a node without a weight", function()
    interlock.ring { a = "heavy" }
  end, 'nodes%["a"%].*heavy' },
  { "a node of weight 0", function()
    interlock.ring { a = 0 }
  end, "1 to 1000000, got 0" },
  { "a node that is there twice", function()
    interlock.ring { "a", a = 2 }
  end, "'a' already" },
  { "an empty node", function() interlock.ring { "" } end, "1 to 512 bytes" },
  { "an unknown layout of a ring", function()
    interlock.ring({ "a" }, { layout = "jump" })
  end, '"ketama" or "tooz".*jump' },
  { "shares in the layout of tooz", function()
    interlock.ring({ "a" }, { layout = "tooz", shares = true })
  end, "ILK_RING_SHARES" },
  { "a key that is a number", function() ring:get(5) end, "key" },
  { "half a node", function() ring:get_n("k", 0.5) end, "n must be" },
  { "a weight in words", function() ring:add("c", "2") end, "weight" },
  { "a weight of 33 bits", function()
    ring:set_weight("a", 2 ^ 32 + 1)
  end, "weight.*got 4294967297" },
  { "loads that are a number", function()
    ring:get_bounded("k", 5)
  end, "loads.*table" },
  { "a load below 0", function()
    ring:get_bounded("k", { a = -1 })
  end, 'loads%["a"%].*got %-1' },
  { "a factor in words", function()
    ring:get_bounded("k", {}, "2")
  end, "factor" },
  { "removing nothing", function() ring:remove() end, "node" },
  { "a URL that is a number", function() interlock.connect(5) end, "url" },
  { "an empty URL", function() interlock.connect("") end, 'url.*got ""' },
  { "a URL with a NUL", function()
    interlock.connect("redis://x\0y")
  end, "url.*NUL" },
  { "a label with a NUL", function()
    interlock.connect(nil, { label = "a\0b" })
  end, "label.*NUL" },
  { "an unknown option of the client", function()
    interlock.connect(nil, { lasy = true })
  end, '"lasy".*lazy' },
}

describe("a wrong argument", function()
  for _, case in ipairs(wrong) do
    it("is refused: " .. case[1], function()
      local line = debug.getinfo(case[2], "S").linedefined

      local ran, raised = pcall(case[2])

      assert.is_false(ran)
      assert.is_truthy(raised:find(case[3]), raised)
      local at = tonumber(raised:match("args_spec%.lua:(%d+):"))
      assert.is_true(at == line or at == line + 1, raised)
    end)
  end

  it("is refused as a value when it came from outside: a URL", function()
    local ok, msg, code = interlock.connect("gopher://x")

    assert.is_nil(ok)
    assert.is_truthy(msg:find("redis://", 1, true))
    assert.equal(interlock.status.ILK_EINVAL, code)
  end)
end)

describe("the status table", function()
  it("has every code by name and every name by code", function()
    local count = 0
    for name, code in pairs(interlock.status) do
      if type(name) == "string" then
        count = count + 1
        assert.equal(name, interlock.status[code])
        assert.equal("string", type(interlock.strerror(code)))
      end
    end
    assert.equal(31, count)
    assert.equal(0, interlock.status.ILK_OK)
    assert.equal(-26, interlock.status.ILK_ECLUSTER)
  end)
end)
