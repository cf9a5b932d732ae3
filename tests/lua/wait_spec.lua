-- SPDX-License-Identifier: MIT
-- The loop that all waits share: signals, deadlines, what is given up.

local interlock = require "interlock"
local support = require "support"
local wait = require "interlock.wait"

local status = interlock.status

describe("a wait", function()
  local told

  before_each(function()
    told = {}
  end)

  -- A function that notes that it was called, and with what.
  local function note(what)
    return function(with)
      told[#told + 1] = what .. " " .. tostring(with)
    end
  end

  local function interrupted()
    return nil, "a signal", status.ILK_EINTR
  end

  it("answers what it got, and gives nothing up", function()
    local answers = { wait.by("it", 1000, function(handle, left)
      assert.equal("it", handle)
      assert.equal(1000, left)
      return "found"
    end, note("leave"), note("abandon")) }

    assert.same({ "found" }, answers)
    assert.same({}, told)
  end)

  it("gives its place up when signals use up its time", function()
    local before = support.now_ms()

    local found, msg, code =
      wait.by("it", 40, interrupted, note("leave"), note("abandon"))

    assert.is_nil(found)
    assert.is_string(msg)
    assert.equal(status.ILK_ETIMEOUT, code)
    assert.is_true(support.now_ms() - before >= 40)
    assert.same({ "leave it" }, told)
  end)

  it("asks again after a signal, for ever if need be", function()
    local left = {}

    local found = wait.by("it", -1, function(_, ms)
      left[#left + 1] = ms
      if #left < 3 then
        return interrupted()
      end
      return "late"
    end, note("leave"))

    assert.equal("late", found)
    assert.same({ -1, -1, -1 }, left)
    assert.same({}, told)
  end)

  it("leaves by an error, first its place and then the rest", function()
    local problem = {}

    local ran, raised = pcall(wait.by, "it", 1000, function()
      error(problem)
    end, note("leave"), note("abandon"))

    assert.is_false(ran)
    assert.equal(problem, raised)
    assert.same({ "leave it", "abandon nil" }, told)
  end)

  it("hands other failures on as they are", function()
    local found, msg, code = wait.by("it", 0, function()
      return nil, "held", status.ILK_EBUSY
    end, note("leave"), note("abandon"))

    assert.is_nil(found)
    assert.equal("held", msg)
    assert.equal(status.ILK_EBUSY, code)
    assert.same({}, told)
  end)
end)
