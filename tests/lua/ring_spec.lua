-- SPDX-License-Identifier: MIT
-- Rings: Lua's manners. Their results are in tests/conformance/ring.txt.

local interlock = require "interlock"

local status = interlock.status

local function owners(ring)
  local found = {}
  for i = 1, 300 do
    found[i] = assert(ring:get("key:" .. i))
  end
  return found
end

describe("a ring", function()
  it("has nodes by name, and by name with a weight", function()
    local ring = interlock.ring { "a", "b\0", c = 3 }

    assert.same({ a = 1, ["b\0"] = 1, c = 3 }, ring:nodes())
    assert.equal(3, ring:count())
    assert.equal("ring of 3 nodes", tostring(ring))
    local c = 0
    for _, node in ipairs(owners(ring)) do
      c = c + (node == "c" and 1 or 0)
    end
    assert.is_true(c > 120 and c < 240, c)
  end)

  it("moves only the keys of the node that comes or leaves", function()
    local ring = interlock.ring { "a", "b" }
    local before = owners(ring)

    assert.is_true(ring:add("c", 2))
    local with, moved = owners(ring), 0
    for i, node in ipairs(with) do
      assert.is_true(node == before[i] or node == "c")
      moved = moved + (node == "c" and 1 or 0)
    end
    assert.is_true(moved > 75)
    assert.is_true(ring:set_weight("c", 1))
    assert.is_true(ring:remove("c"))

    assert.same(before, owners(ring))
  end)

  it("returns several nodes in turn", function()
    local ring = interlock.ring({ "a", "b", "c" }, { layout = "tooz" })

    local nodes = assert(ring:get_n("key", 3))

    assert.equal(ring:get("key"), nodes[1])
    assert.is_true(ring:remove(nodes[1]))
    assert.same({ nodes[2], nodes[3] }, ring:get_n("key", 2))
    assert.equal("table", type(ring:get_n("key", 1)))
  end)

  it("passes over a node that has too much", function()
    local ring = interlock.ring { "a", "b" }
    local own = ring:get("key")
    local other = own == "a" and "b" or "a"

    assert.equal(own, ring:get_bounded("key", {}))
    assert.equal(other, ring:get_bounded("key", { [own] = 9, gone = 99 }))
    assert.equal(own, ring:get_bounded("key", { [own] = 9 }, 100))
  end)

  it("returns an error for nodes that it has or lacks", function()
    local ring = interlock.ring {}
    local function refused(found, msg, code)
      assert.is_nil(found)
      assert.equal(status.ILK_EINVAL, code)
      return msg
    end

    assert.equal("the ring has no nodes", refused(ring:get("key")))
    assert.equal("the ring has no nodes", refused(ring:get_n("key", 1)))
    assert.equal("the ring has no nodes", refused(ring:get_bounded("key", {})))
    assert.is_true(ring:add("a"))
    assert.equal("the ring has the node 'a' already", refused(ring:add("a")))
    assert.equal("the ring has no node 'b'", refused(ring:remove("b")))
    assert.equal("the ring has no node 'b'", refused(ring:set_weight("b", 2)))
    assert.is_truthy(refused(ring:get_n("key", 2)):find("1 to 1", 1, true))
    assert.is_truthy(refused(ring:add(("x"):rep(513))):find("513", 1, true))
  end)

  it("survives its collection", function()
    for _ = 1, 50 do
      local ring = interlock.ring { "a", "b" }
      assert.is_string(ring:get("key"))
    end
    collectgarbage()
    collectgarbage()
  end)
end)
