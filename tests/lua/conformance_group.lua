-- SPDX-License-Identifier: MIT
-- The conformance table's statements about groups; what they are is said in
-- tests/core/conformance/conf_group.h.

local interlock = require "interlock"
local assert = require "luassert" -- a module has not that of a spec

local status = interlock.status

local group = {}

local makers = {}

function makers.group(client, words)
  return client:group(words[4])
end

function makers.join(client, words)
  local ms = (words[7] or ""):match("^ttl_ms=(.*)$")
  local made, msg, code = client:group(words[4])
  if not made then
    return nil, msg, code
  end
  return made:join(words[5], words[6], { ttl_ms = tonumber(ms) })
end

local function sorted(entries)
  table.sort(entries)
  return table.concat(entries, " ")
end

local verbs = {}

function verbs.members(self)
  local members, msg, code = self.group:members()
  if not members then
    return nil, msg, code
  end
  local entries = {}
  for id, data in pairs(members) do
    entries[#entries + 1] = id .. "=" .. data
  end
  return sorted(entries)
end

-- For ever is nil in Lua, -1 in the table.
function verbs.watch(self, words)
  self.watching = self.watching or assert(self.group:watch())
  local ms = words[3] ~= "-1" and tonumber(words[3]) or nil
  local change, msg, code = self.watching:next(ms)
  if not change then
    return nil, msg, code
  end
  local entries = {}
  for _, id in ipairs(change.joined) do
    entries[#entries + 1] = "+" .. id .. "=" .. change.members[id]
  end
  for _, id in ipairs(change.left) do
    entries[#entries + 1] = "-" .. id
  end
  for _, id in ipairs(change.updated) do
    entries[#entries + 1] = "!" .. id .. "=" .. change.members[id]
  end
  return sorted(entries)
end

function verbs.update(self, words)
  return self.member:update(words[3])
end

function verbs.leave(self)
  return self.member:leave()
end

function verbs.held(self)
  return self.member.held and "1" or "0"
end

-- The result of a method, as the table has it. A wrong argument is raised.
local function answered(ran, found, _, code)
  if not ran then
    return "ILK_EINVAL"
  elseif found == nil then
    return status[code]
  end
  return found == true and "ILK_OK" or found
end

--- Run a line; false when it is about something else.
function group.line(client, words, handles)
  local wanted = words[#words - 1] == "->" and words[#words] or "ILK_OK"
  local kind, self = words[3], handles[words[1]]
  if words[2] == "=" and makers[kind] then
    local made = { pcall(makers[kind], client, words) }
    if made[1] and made[2] then
      handles[words[1]] = { is_group = true, [kind == "join" and "member" or "group"] = made[2] }
      assert.equal(wanted, "ILK_OK")
    else
      assert.equal(wanted, answered(made[1], nil, made[3], made[4]))
    end
    return true
  elseif type(self) ~= "table" or not rawget(self, "is_group") then
    return false
  end
  assert.equal(wanted, answered(pcall(verbs[words[2]], self, words)))
  return true
end

return group
