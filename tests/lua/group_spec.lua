-- SPDX-License-Identifier: MIT
-- Groups, as Lua sees them.

local interlock = require "interlock"
local party = require "party"
local started = require "started"
local support = require "support"

local status = interlock.status

describe("a group", function()
  local server, client = support.served()
  local group, name

  before_each(function()
    name = support.name()
    group = assert(client:group(name))
  end)

  it("lists its members and their data", function()
    assert.same({}, group:members())
    local one = assert(group:join("one", "10.0.0.1"))
    local two = assert(group:join("\0\255", ""))
    assert.same({ one = "10.0.0.1", ["\0\255"] = "" }, group:members())
    assert.is_true(one:update("10.0.0.2"))
    assert.equal("10.0.0.2", group:members().one)
    assert.is_true(two:leave())
    assert.same({ one = "10.0.0.2" }, group:members())
    assert.is_true(one.held)
    assert.is_true(one:check())
    assert.equal("one", one.id)
    assert.equal(name, one.name)
    assert.equal(32, #one.token)
    assert.is_true(one:remaining_ms() > 8000 and one:remaining_ms() <= 10000)
    assert.equal(name, group.name)
    assert.is_truthy(tostring(one):find('member "one" of', 1, true))
    assert.is_true(one:leave())
    assert.is_truthy(tostring(one):find("(not in)", 1, true))
  end)

  it("refuses an id that is in", function()
    local one = assert(group:join("a"))
    local other, msg, code = group:join("a")
    assert.is_nil(other)
    assert.is_truthy(msg:find("a member with this id", 1, true))
    assert.equal(status.ILK_EHELD, code)
    one:leave()
    local _, _, left = one:leave()
    assert.equal(status.ILK_ENOTOWNER, left)
  end)

  it("keeps a member whose object is dropped", function()
    assert(group:join("a", nil, { ttl_ms = 300 }))
    collectgarbage()
    collectgarbage()
    support.sleep_ms(900)
    assert.same({ a = "" }, group:members())
  end)

  it("reports a loss", function()
    local notifications = assert(client:notifications())
    local one = assert(group:join("a", "", { ttl_ms = 300 }))
    server:command("DEL", "ilk:group:{" .. name .. "}")
    local lost = support.await_notification(notifications, "member_lost")
    assert.equal(one, lost.lock)
    assert.equal(one.number, lost.id)
    assert.is_false(one.held)
    local _, _, code = one:update("x")
    assert.equal(status.ILK_ELOST, code)
  end)

  it("is watched: everybody, then each change", function()
    local watch = assert(group:watch())
    assert.same({ joined = {}, left = {}, updated = {}, members = {} }, watch:next())
    local one = assert(group:join("a", "1"))
    assert.same({ joined = { "a" }, left = {}, updated = {}, members = { a = "1" } },
      watch:next(5000))
    one:update("2")
    assert.same({ joined = {}, left = {}, updated = { "a" }, members = { a = "2" } },
      watch:next(5000))
    one:leave()
    assert.same({ joined = {}, left = { "a" }, updated = {}, members = {} }, watch:next(5000))
    local none, _, code = watch:next(0)
    assert.is_nil(none)
    assert.equal(status.ILK_EBUSY, code)
    local _, _, late = watch:next(30)
    assert.equal(status.ILK_ETIMEOUT, late)
    assert.is_true(watch:cancel())
  end)

  it("has a ring that follows", function()
    local nodes = assert(group:ring())
    assert.equal(0, nodes:count())
    assert.is_nil((nodes:get "key"))
    local a, b = assert(group:join "a"), assert(group:join "b")
    assert.equal(0, nodes:count()) -- as of the last refresh
    while nodes:refresh() do
    end
    assert.same({ a = 1, b = 1 }, nodes:nodes())
    local before = {}
    for i = 1, 50 do
      before[i] = assert(nodes:get("key" .. i))
    end
    assert(b:leave())
    local change = assert(nodes:refresh(5000))
    assert.same({ "b" }, change.left)
    for i = 1, 50 do
      assert.equal("a", nodes:get("key" .. i))
    end
    assert(group:join "b")
    assert(nodes:refresh(5000))
    for i = 1, 50 do
      assert.equal(before[i], nodes:get("key" .. i))
    end
    local late = assert(client:group(name):ring { layout = "tooz" })
    assert.same({ a = 1, b = 1 }, late:nodes())
    assert.equal(status.ILK_EBUSY, select(3, late:refresh()))
    assert.equal(status.ILK_ETIMEOUT, select(3, late:refresh(10)))
    assert.equal("ring of 2 members", tostring(late))
    assert(a:leave())
  end)

  it("is iterated", function()
    assert(group:join("a"))
    local seen = {}
    for change in group:watch() do
      seen[#seen + 1] = change.joined
      if #seen == 2 then
        break
      end
      assert(group:join("b"))
    end
    assert.same({ { "a" }, { "b" } }, seen)
  end)

  it("wakes a process that watches", function()
    local child = party.start(server, [[
      local watch = client:group(arg[2]):watch()
      watch:next()
      print(watch:next(20000).joined[1])]], name)
    child:stands_in("group", name, 1)
    assert(group:join("news"))
    assert.equal("news", child:finish())
  end)

  it("refuses what makes no sense, in the caller's line", function()
    assert.equal(("group %q"):format(name), tostring(group))
    for _, call in ipairs {
      function() client:group("") end,
      function() client:group() end,
      function() group:join() end,
      function() group:join("") end,
      function() group:join(("x"):rep(513)) end,
      function() group:join("a", 5) end,
      function() group:join("a", "", { ttl = 5 }) end,
      function() group:join("a", "", { ttl_ms = 0 }) end,
      function() group:join_start("") end,
      function() group:join("a"):update(5) end,
      function() group:watch():next(-1) end,
      function() group.x = 1 end,
    } do
      local ran, raised = pcall(call)
      assert.is_false(ran)
      assert.is_truthy(tostring(raised):find("group_spec.lua", 1, true), raised)
    end
    local none, _, code = group:join("b", ("x"):rep(4097))
    assert.is_nil(none)
    assert.equal(status.ILK_EINVAL, code)
  end)

  it("starts what others wait for", function()
    local notifications = assert(client:notifications())
    local function answers(op)
      return started.answer(notifications, op)
    end
    local join = assert(group:join_start("a", "1"))
    local one = answers(join)
    assert.is_true(one.held)
    assert.same({ a = "1" }, answers(assert(group:members_start())))
    local watch = assert(group:watch())
    assert.same({ "a" }, answers(assert(watch:next_start(0))).joined)
    local next_one = assert(watch:next_start())
    assert.is_true(answers(assert(one:update_start("2"))))
    assert.same({ a = "2" }, answers(next_one).members)
    assert.is_true(answers(assert(one:leave_start())))
    assert.same({}, group:members())
  end)

  it("keeps members that join while no notification is fetched", function()
    local notifications = assert(client:notifications())
    local joins, kept = {}, 0
    for i = 1, 20 do
      joins[i] = assert(group:join_start(tostring(i)))
    end
    for _, join in ipairs(joins) do
      assert.is_true(started.answer(notifications, join).held)
    end
    for _, member in pairs(client._joined.members) do
      kept = kept + (member.name == group.name and 1 or 0)
    end
    assert.equal(20, kept)
  end)

  it("is left by Ctrl-C at once", function()
    local child = party.start(server, [[
      local watch = client:group(arg[2]):watch()
      watch:next()
      print((pcall(watch.next, watch)))]], name)
    child:stands_in("group", name, 1)
    child:interrupt()
    assert.equal("false", child:finish())
  end)
end)
