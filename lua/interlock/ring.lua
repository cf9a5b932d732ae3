-- SPDX-License-Identifier: MIT
-- The ring: consistent hashing, which finds the node of a key.

local core = require "interlock.core"
local args = require "interlock.args"
local options = require "interlock.options"

---@class interlock.Ring
local Ring = {}

local meta = { __index = Ring }

function meta.__tostring(self)
  return ("ring of %d nodes"):format(self:count())
end

---@class interlock.RingOptions
---@field layout "ketama"|"tooz"? where the points of a node are
---@field shares boolean? points by libketama's formula; default false

local layouts = { [core.ILK_RING_KETAMA] = "ketama", [core.ILK_RING_TOOZ] = "tooz" }
local rules = {
  layout = { "choice", layouts },
  shares = { "flag", core.ILK_RING_SHARES, when = true },
}

-- The numbers of C as names; or nil, message, code, as they come.
local function named(self, numbers, msg, code)
  if not numbers then
    return nil, msg, code
  end
  local names = {}
  for i = 1, #numbers do
    names[i] = core.ilk_ring_node(self._handle, numbers[i])
  end
  return names
end

--- Return n different nodes of a key: the one of get(), and those that come after.
---@param key string any bytes
---@param n integer
---@return string[]? nodes
---@return string? msg
---@return integer? code ILK_EINVAL: there are not so many
function Ring:get_n(key, n)
  args.bytes("key", key)
  args.count("n", n, core.ILK_RING_POINTS_MAX)
  return named(self, core.ilk_ring_get_n(n, self._handle, key))
end

--- Return the node of a key.
---@param key string any bytes
---@return string? node
---@return string? msg
---@return integer? code ILK_EINVAL: the ring has no nodes
function Ring:get(key)
  args.bytes("key", key)
  local number = core.ilk_ring_get(self._handle, key)
  if number < 0 then
    return nil, "the ring has no nodes", number
  end
  return core.ilk_ring_node(self._handle, number)
end

--- Return the first node, from that of get() on, that is not overloaded: with this
--- key it has at most factor times its share of all loads, rounded up.
---@param key string any bytes
---@param loads table<string, integer> of each node; one that is missing has 0
---@param factor number? 1 or more; default 1.25
---@return string? node
---@return string? msg
---@return integer? code
function Ring:get_bounded(key, loads, factor)
  args.bytes("key", key)
  args.table("loads", loads)
  args.number("factor", factor or 1.25)
  local by_number = {}
  for i = 1, self:count() do
    local node = core.ilk_ring_node(self._handle, i - 1)
    by_number[i] = args.load(("loads[%q]"):format(node), loads[node] or 0)
  end
  local number, msg, code =
    core.ilk_ring_get_bounded(self._handle, key, by_number, factor or 1.25)
  if not number then
    return nil, msg, code
  end
  return core.ilk_ring_node(self._handle, number)
end

--- Add a node; only keys that are its own from now on move.
---@param node string 1 to 512 bytes
---@param weight integer? it has so many times the keys of a node of weight 1
---@return true? ok
---@return string? msg
---@return integer? code ILK_EINVAL: the ring has this node
function Ring:add(node, weight)
  args.bytes("node", node)
  args.count("weight", weight or 1, core.ILK_RING_WEIGHT_MAX)
  return core.ilk_ring_add(self._handle, node, weight or 1)
end

--- Remove a node; only the keys that it had move.
---@param node string
---@return true? ok
---@return string? msg
---@return integer? code ILK_EINVAL: the ring has no such node
function Ring:remove(node)
  args.bytes("node", node)
  return core.ilk_ring_remove(self._handle, node)
end

--- Change the weight of a node; only its own keys move.
---@param node string
---@param weight integer
---@return true? ok
---@return string? msg
---@return integer? code ILK_EINVAL: the ring has no such node
function Ring:set_weight(node, weight)
  args.bytes("node", node)
  args.count("weight", weight, core.ILK_RING_WEIGHT_MAX)
  return core.ilk_ring_set_weight(self._handle, node, weight)
end

--- Return the number of nodes.
---@return integer
function Ring:count()
  return core.ilk_ring_count(self._handle)
end

--- Return the nodes with their weights.
---@return table<string, integer>
function Ring:nodes()
  local weights = {}
  for number = 0, self:count() - 1 do
    local node = core.ilk_ring_node(self._handle, number)
    weights[node] = core.ilk_ring_weight(self._handle, number)
  end
  return weights
end

local ring = { methods = Ring }

--- Make a ring. It needs no client: interlock.ring { "a", "b", c = 3 }
---@param nodes table<integer|string, string|integer> names, or weights by name
---@param opts interlock.RingOptions?
---@return interlock.Ring? ring
---@return string? msg
---@return integer? code
function ring.new(nodes, opts)
  args.table("nodes", nodes)
  local names, weights = {}, {}
  for key, value in pairs(nodes) do
    local weighted = type(key) == "string"
    local node = weighted and key or value
    names[#names + 1] = args.bytes(("nodes[%s]"):format(tostring(key)), node)
    weights[#names] = weighted
      and args.count(("nodes[%q]"):format(key), value, core.ILK_RING_WEIGHT_MAX)
      or 1
  end
  local record = options.fill(core.ilk_ring_opts_init(), rules, opts)
  local handle, msg, code = core.ilk_ring_new(record)
  local added
  if handle then
    added, msg, code = core.ilk_ring_add_many(handle, names, weights)
  end
  if code == core.ILK_EINVAL then
    error(msg, 2)
  elseif not added then
    return nil, msg, code
  end
  return setmetatable({ _handle = handle }, meta)
end

return ring
