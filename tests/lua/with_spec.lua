-- SPDX-License-Identifier: MIT
-- Scopes: lock:with(fn), and <close> where Lua has it.

local interlock = require "interlock"
local support = require "support"

local status = interlock.status
local compile = loadstring or load

describe("a scope", function()
  local server, client = support.served()
  local name, lock

  before_each(function()
    name = support.name()
    lock = client:lock(name)
  end)

  it("holds while the function runs and returns its results", function()
    local during
    local results = { lock:with(function(held)
      during = held.held
      return 1, nil, "x"
    end) }

    assert.is_true(during)
    assert.same({ true, 1, nil, "x" }, results)
    assert.is_false(lock.held)
    assert.equal("free", client:inspect(name).state)
  end)

  it("releases on an error and raises the same error", function()
    local problem = { "anything" }

    local ran, raised = pcall(lock.with, lock, function()
      error(problem)
    end)

    assert.is_false(ran)
    assert.equal(problem, raised)
    assert.equal("free", client:inspect(name).state)
  end)

  it("does not run when the lock is not had in time", function()
    local other = client:lock(name)
    assert.is_true(other:acquire(0))
    local ran = false

    local ok, _, code = lock:with(function()
      ran = true
    end, 30)

    assert.is_nil(ok)
    assert.equal(status.ILK_ETIMEOUT, code)
    assert.is_false(ran)
    assert.is_true(other:release())
  end)

  it("tells when the lock was lost inside", function()
    local ok, msg, code = lock:with(function()
      assert.is_true(client:break_lock(name))
      return "late"
    end)

    assert.is_nil(ok)
    assert.equal("string", type(msg))
    assert.equal(status.ILK_ELOST, code)
  end)

  if _VERSION >= "Lua 5.4" then
    it("ends with its block", function()
      assert(compile([[
        local lock = ...
        local scoped <close> = lock
        assert(scoped:acquire(0) and scoped.held)
      ]]))(lock)

      assert.is_false(lock.held)
      assert.equal("free", client:inspect(name).state)
    end)

    it("ends with its block on an error, which stays the same", function()
      local block = assert(compile([[
        local lock = ...
        local scoped <close> = lock
        assert(scoped:acquire(0))
        error("mine", 0)
      ]]))

      local ran, raised = pcall(block, lock)

      assert.is_false(ran)
      assert.equal("mine", raised)
      assert.equal("free", client:inspect(name).state)
    end)

    it("raises a loss at the end of its block", function()
      local block = assert(compile([[
        local lock, client, name = ...
        local scoped <close> = lock
        assert(scoped:acquire(0))
        assert(client:break_lock(name))
      ]]))

      assert.is_false((pcall(block, lock, client, name)))
    end)

    it("leaves a lock alone that was released inside", function()
      assert(compile([[
        local lock = ...
        local scoped <close> = lock
        assert(scoped:acquire(0) and scoped:release())
      ]]))(lock)
    end)

    it("closes a client", function()
      local closed = assert(compile([[
        local client <close> = ...
        return client
      ]]))(assert(interlock.connect(server.url)))

      assert.equal(status.ILK_ECLOSED, select(3, closed:ping()))
    end)
  end
end)
