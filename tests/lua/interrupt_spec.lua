-- SPDX-License-Identifier: MIT
-- Ctrl-C ends a wait of a real interpreter at once, and nothing is left.

local interlock = require "interlock"
local core = require "interlock.core"
local hold = require "interlock.hold"
local support = require "support"

local status = interlock.status

-- Runs with the URL, the name and what to do as its arguments.
local program = [[
local interlock = require "interlock"
local url, name, what = arg[1], arg[2], arg[3]
local client = assert(interlock.connect(url))
local lock = client:lock(name)
if what == "catch" then
  local ran, raised = pcall(lock.acquire, lock)
  print(ran, raised)
  local clock = require("interlock.core").ilk_lua_clock_ms
  local deadline = clock() + 2000
  repeat
    local waiters = client:inspect(name).waiting
  until waiters == 0 or clock() > deadline
  print(client:inspect(name).waiting)
else
  lock:with(print)
end
]]

describe("Ctrl-C", function()
  local server, client = support.served()
  local name, lock

  before_each(function()
    name = support.name()
    lock = client:lock(name)
    assert.is_true(lock:acquire(0))
  end)

  -- Start the program and interrupt it when it waits: how long it took to
  -- end after that, and what it printed.
  local function run(what)
    local base = server.dir .. "/" .. what
    local file = assert(io.open(base .. ".lua", "w"))
    file:write(program)
    file:close()
    os.execute(([[
      { sh -c 'echo $$ >%s.pid; exec %s %s.lua %s %s %s' >%s.out 2>&1
        echo >%s.done; } &]]):format(base, support.interpreter(), base,
      server.url, name, what, base, base))
    support.await(5000, function()
      return client:inspect(name).waiting == 1
    end)
    local before = support.now_ms()
    os.execute("kill -INT $(cat " .. base .. ".pid)")
    support.await(5000, function()
      local done = io.open(base .. ".done")
      return done and done:close()
    end)
    local took = support.now_ms() - before
    local out = assert(io.open(base .. ".out"))
    local printed = out:read("*a")
    out:close()
    return took, printed
  end

  it("is an error that can be caught, and the wait is over", function()
    local took, printed = run("catch")

    assert.is_truthy(printed:find("^false\t.*interrupted!"), printed)
    assert.is_truthy(printed:find("\n0\n"), printed)
    assert.is_true(took < support.patience(500), "took " .. took)
    assert.is_true(lock:release())
    assert.equal("free", client:inspect(name).state)
  end)

  it("ends the program", function()
    local took, printed = run("die")

    assert.is_truthy(printed:find("interrupted!"), printed)
    assert.is_true(took < support.patience(500), "took " .. took)
    assert.is_true(lock:release())
    assert.is_true(client:lock(name):acquire(1000))
  end)

  -- Acquires it, and is interrupted before the caller has the result.
  local function take_and_fail(handle)
    assert.is_true(core.ilk_lock_acquire(handle, 0))
    error("hurt", 0)
  end

  it("keeps nothing that was got just before", function()
    local own = client:lock(support.name())

    local ran, raised = pcall(hold.acquire, own, 60, take_and_fail)

    assert.is_false(ran)
    assert.equal("hurt", raised)
    assert.is_false(own.held)
    assert.equal("free", client:inspect(own.name).state)
  end)

  it("keeps what was held before that", function()
    local own = client:lock(support.name(), { reentrant = true })
    assert.is_true(own:acquire(0))

    local ran = pcall(hold.acquire, own, 60, error)

    assert.is_false(ran)
    assert.is_true(own.held)
    assert.equal("held", client:inspect(own.name).state)
  end)

  it("does not move the deadline, however many signals come", function()
    local before, tries = support.now_ms(), 0

    local ok, msg, code = hold.acquire(client:lock(name), 60, function(_, left)
      tries = tries + 1
      assert.is_true(left > 0 and left <= 60)
      return nil, "a signal", status.ILK_EINTR
    end)

    local took = support.now_ms() - before
    assert.is_nil(ok)
    assert.equal("string", type(msg))
    assert.equal(status.ILK_ETIMEOUT, code)
    assert.is_true(tries > 1)
    local most = 60 + support.patience(120)
    assert.is_true(took >= 60 and took < most, "took " .. took)
  end)
end)
