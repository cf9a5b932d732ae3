-- SPDX-License-Identifier: MIT
-- The conformance table's statements about rings; what they are is said in
-- tests/core/conformance/conf_ring.h.

local assert = require "luassert" -- a module has not that of a spec
local interlock = require "interlock"

local ring = { verbs = {} }

local options = {
  ketama = {},
  tooz = { layout = "tooz" },
  shares = { shares = true },
}

local verbs = ring.verbs

function verbs.add(one, words)
  return one:add(words[1], tonumber(words[2]))
end

function verbs.remove(one, words)
  return one:remove(words[1])
end

function verbs.weight(one, words)
  return one:set_weight(words[1], tonumber(words[2]))
end

function verbs.get(one, words)
  return one:get(words[1])
end

function verbs.get_n(one, words)
  return one:get_n(words[2], tonumber(words[1]))
end

local numbers = { inf = math.huge, nan = 0 / 0 }

function verbs.bounded(one, words)
  local names, loads = {}, {}
  for name in pairs(one:nodes()) do
    names[#names + 1] = name
  end
  table.sort(names)
  assert.equal(#names, #words - 2)
  for i, name in ipairs(names) do
    loads[name] = tonumber(words[i + 2])
  end
  local factor = numbers[words[1]] or tonumber(words[1])
  return one:get_bounded(words[2], loads, factor)
end

-- The words of a line before and behind "->".
local function parted(words, from)
  local before, behind = {}, {}
  local into = before
  for i = from, #words do
    if words[i] == "->" then
      into = behind
    else
      into[#into + 1] = words[i]
    end
  end
  return before, behind
end

local function answer(ran, found, _, code)
  if not ran then
    return { "ILK_EINVAL" } -- a wrong argument is raised
  elseif not found then
    return { interlock.status[code] }
  elseif found == true then
    return { "ILK_OK" }
  end
  return type(found) == "table" and found or { found }
end

--- Run a line; false when it is about something else.
function ring.line(words, handles)
  if words[2] == "=" and words[3] == "ring" then
    handles[words[1]] = interlock.ring({}, options[words[4]])
    return true
  end
  local one = handles[words[1]]
  if type(one) ~= "table" or not one.get_bounded then
    return false
  end
  local given, wanted = parted(words, 3)
  if #wanted == 0 then
    wanted = { "ILK_OK" }
  end
  assert.same(wanted, answer(pcall(verbs[words[2]], one, given)))
  return true
end

return ring
