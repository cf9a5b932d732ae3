-- SPDX-License-Identifier: MIT
-- Stores: what is Lua's own about transactions; the rest is in the table.

local interlock = require "interlock"
local support = require "support"

describe("a store", function()
  local _, client = support.served()
  local store

  before_each(function()
    store = assert(client:store(support.name()))
  end)

  local function put(key, value)
    local t = assert(store:begin())
    assert(t:put(key, value))
    assert(t:commit())
  end

  local function read(key)
    return assert(store:snapshot()):get(key)
  end

  it("reads nil without an error where there is no value", function()
    local t = assert(store:begin())
    local value, msg, code = t:get "none"
    assert.is_nil(value)
    assert.is_nil(msg)
    assert.is_nil(code)
  end)

  it("keeps any bytes", function()
    put("k\0", "a\0\r\n\255")
    assert.equal("a\0\r\n\255", read "k\0")
  end)

  it("commits by run, and returns what the function has returned", function()
    local ok, result = store:run(function(t)
      t:put("a", "1")
      return "done"
    end)
    assert.is_true(ok)
    assert.equal("done", result)
    assert.equal("1", read "a")
  end)

  it("begins again after a conflict", function()
    put("a", "1")
    local seen = {}
    assert(store:run(function(t)
      seen[#seen + 1] = t:get "a"
      if #seen == 1 then
        put("a", "5")
      end
      t:put("a", tostring(2 * tonumber(seen[#seen])))
    end))
    assert.same({ "1", "5" }, seen)
    assert.equal("10", read "a")
  end)

  it("gives up when its time is over", function()
    local ok, _, code = store:run(function(t)
      t:get "a"
      put("a", "x")
      t:put("a", "y")
    end, 0)
    assert.is_nil(ok)
    assert.equal(interlock.status.ILK_ECONFLICT, code)
  end)

  it("raises what the function raises, and writes nothing", function()
    assert.has_error(function()
      store:run(function(t)
        t:put("a", "1")
        error("oops", 0)
      end)
    end, "oops")
    assert.is_nil((read "a"))
  end)

  it("does not commit what has read a version that is gone", function()
    local t = assert(store:begin())
    t:get "other"
    for number = 1, 65 do
      put("a", tostring(number))
    end
    local value, _, code = t:get "a"
    assert.is_nil(value)
    assert.equal(interlock.status.ILK_ECONFLICT, code)
    local ok
    ok, _, code = t:commit()
    assert.is_nil(ok)
    assert.equal(interlock.status.ILK_ECONFLICT, code)
  end)

  it("says what became of a transaction", function()
    local t = assert(store:begin())
    assert.equal("", t.id)
    t:put("a", "1")
    assert(t:commit())
    assert.equal("committed", store:outcome(t.id))
    assert.equal("undecided", store:outcome(("0"):rep(32) .. "-1700000000000"))
    local outcome, _, code = store:outcome "x"
    assert.is_nil(outcome)
    assert.equal(interlock.status.ILK_EINVAL, code)
  end)

  it("refuses what is no text", function()
    local t = assert(store:begin())
    for _, call in ipairs {
      function()
        t:get(1)
      end,
      function()
        t:put("a", {})
      end,
      function()
        t:delete(nil)
      end,
      function()
        store:run "x"
      end,
      function()
        store:outcome(7)
      end,
    } do
      assert.has_error(call)
    end
  end)
end)
