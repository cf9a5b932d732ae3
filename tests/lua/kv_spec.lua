-- SPDX-License-Identifier: MIT
-- Replicated values: what is Lua's own about them; the rest is in the table.

local interlock = require "interlock"
local support = require "support"

local status = interlock.status

describe("a kv", function()
  local server, client = support.served()
  local kv

  before_each(function()
    kv = assert(client:kv(support.name()))
  end)

  it("reads nil without an error where there is no value", function()
    assert.equal(1, select("#", kv:get "none"))
    local value, version, code = kv:get "none"
    assert.is_nil(value)
    assert.is_nil(version)
    assert.is_nil(code)
  end)

  it("reads a value and its version", function()
    local first = assert(kv:put("k\0", "a\0\r\n\255"))
    assert.same({ "a\0\r\n\255", first }, { kv:get "k\0" })
    local second = assert(kv:put("k\0", "", { fast = true }))
    assert.is_true(second > first)
    assert.same({ "", second }, { kv:get "k\0" })
    if math.type then
      assert.equal("integer", math.type(second))
    end
  end)

  it("deletes, whether there is a value or not", function()
    local first = assert(kv:put("k", "v"))
    local second = assert(kv:delete "k")
    local third = assert(kv:delete("k", { fast = true }))
    assert.is_true(first < second and second < third)
    assert.is_nil((kv:get "k"))
  end)

  it("returns nil, message, code for what fails", function()
    server:command("SET", ("ilk:kv:{%s}/k"):format(kv.name), "x")
    for _, answer in ipairs {
      { kv:get "k" },
      { kv:put("k", "") },
      { kv:delete "k" },
    } do
      assert.is_nil(answer[1])
      assert.is_string(answer[2])
      assert.equal(status.ILK_ETYPE, answer[3])
    end
    assert.equal(status.ILK_EINVAL, select(3, kv:get ""))
  end)

  it("has a name, and says so", function()
    assert.equal(("kv %q"):format(kv.name), tostring(kv))
    assert.has_error(function()
      kv.other = 1
    end)
    assert.is_true(client:offers "kv")
  end)

  it("refuses wrong arguments in the caller's line", function()
    for _, call in ipairs {
      function() kv:get(1) end,
      function() kv:put("k", {}) end,
      function() kv:put(nil, "v") end,
      function() kv:put("k", "v", { quick = true }) end,
      function() kv:put("k", "v", { fast = 1 }) end,
      function() kv:delete {} end,
      function() kv:delete("k", "fast") end,
      function() kv:get_start() end,
      function() kv:put_start("k") end,
      function() kv:delete_start("k", { slow = true }) end,
      function() client:kv(7) end,
      function() client:kv "" end,
      function() client:kv_move "x" end,
      function() client:kv_move {} end,
      function() client:kv_move_start(7) end,
    } do
      local ok, problem = pcall(call)
      assert.is_false(ok)
      assert.is_truthy(tostring(problem):find("kv_spec.lua", 1, true), tostring(problem))
    end
  end)
end)

describe("a move", function()
  local _, client = support.served()

  it("is done at once on a single server", function()
    local progress = assert(client:kv_move())
    assert.is_true(progress.done)
    assert.same({ 1, 1, 0, 0, 0 }, {
      progress.server, progress.servers, progress.looked, progress.copied, progress.removed,
    })
  end)

  it("goes on after a progress, which stays as it is", function()
    local progress = assert(client:kv_move())
    local again, msg, code = client:kv_move(progress)
    assert.is_nil(again)
    assert.equal("progress is done", msg)
    assert.equal(status.ILK_EINVAL, code)
    assert.is_true(progress.done)
  end)
end)
