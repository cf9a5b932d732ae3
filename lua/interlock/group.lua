-- SPDX-License-Identifier: MIT
-- The group: who is in it, by heartbeat, and who joins and leaves.

local core = require "interlock.core"
local args = require "interlock.args"
local at_close = require "interlock.at_close"
local object = require "interlock.object"
local ring = require "interlock.ring"
local op = require "interlock.op"
local options = require "interlock.options"
local wait = require "interlock.wait"

-- ---- members ----------------------------------------------------------------

---@class interlock.Member
---@field name string of its group
---@field id string in the group, any bytes
---@field held boolean whether it is in for sure, by the local clock
---@field token string of this membership or the last one
---@field number integer that notifications carry
local Member = {}

---@class interlock.MemberOptions
---@field ttl_ms number? the lease, renewed in the background; default 10000

local rules = { ttl_ms = { "duration" } }

local member_meta = object.metatable("member", Member, {
  held = function(handle)
    return core.ilk_member_held(handle) == 1
  end,
  id = core.ilk_member_id,
  token = core.ilk_member_token,
  number = core.ilk_member_number,
})

function member_meta.__tostring(self)
  local state = self.held and "%d ms left" or "not in"
  return ("member %q of %q (%s)"):format(self.id, self.name, state:format(self:remaining_ms()))
end

-- `local member <close> = ...`: a loss raises, unless another error is under way.
function member_meta.__close(self, problem)
  local ok, msg, code = self:leave()
  if not ok and code ~= core.ILK_ENOTOWNER and problem == nil then
    error(msg, 0)
  end
end

local function is_joining(member)
  local started = rawget(member, "_join")
  return started and rawget(started, "_handle") and not started.done
end

-- The client keeps the objects of its members, so that one that the program has
-- dropped stays in its group. Those that are out are removed when there are twice as
-- many as there were in.
local function keep(client, member)
  local joined = client._joined
  rawset(member, "_joined", joined)
  at_close.renew()
  if joined.count >= joined.limit then
    local members, count = {}, 0
    for number, one in pairs(joined.members) do
      if one.held or is_joining(one) then
        members[number], count = one, count + 1
      end
    end
    joined.members, joined.count = members, count
    joined.limit = math.max(16, 2 * count)
  end
  joined.members[member.number] = member
  joined.count = joined.count + 1
  client._holds[member.number] = member
  return member
end

local function drop(member)
  local joined = member._joined
  if joined.members[member.number] then
    joined.members[member.number] = nil
    joined.count = joined.count - 1
  end
end

--- Publish other data.
---@param data string any bytes, up to 4 KiB
---@return true? ok
---@return string? msg
---@return integer? code ILK_ELOST: it is no longer in; ILK_ENOTOWNER: it has left
function Member:update(data)
  args.bytes("data", data)
  return core.ilk_member_update(self._handle, data)
end

--- Start update().
---@param data string as for update
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Member:update_start(data)
  args.bytes("data", data)
  return op.wrap(self, op.ok, core.ilk_member_update_start(self._handle, data))
end

--- Leave the group.
---@return true? ok
---@return string? msg
---@return integer? code ILK_ELOST: it was no longer in; ILK_ENOTOWNER: it has left
function Member:leave()
  drop(self)
  return core.ilk_member_leave(self._handle)
end

--- Start leave(); the member counts as left at once.
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Member:leave_start()
  drop(self)
  return op.wrap(self, op.ok, core.ilk_member_leave_start(self._handle))
end

--- Verify that it is in the group for sure, by the local clock.
---@return true? ok
---@return string? msg
---@return integer? code ILK_ELOST, ILK_ENOTOWNER
function Member:check()
  return core.ilk_member_check(self._handle)
end

--- Milliseconds for which it is in for sure, by the local clock.
---@return integer # 0 when it left, was lost or is in doubt
function Member:remaining_ms()
  return core.ilk_member_remaining_ms(self._handle)
end

-- ---- changes ----------------------------------------------------------------

---@class interlock.GroupChange
---@field joined string[] ids of those who are in and were not
---@field left string[] ids of those who left, or whose lease ended
---@field updated string[] ids of those with other data
---@field members table<string, string> all members: their data by id

local kinds = {
  [core.ILK_MEMBER_JOINED] = "joined",
  [core.ILK_MEMBER_LEFT] = "left",
  [core.ILK_MEMBER_UPDATED] = "updated",
}

-- Apply entries to the members that are known; returns the change.
local function change_of(known, found)
  local change = { joined = {}, left = {}, updated = {}, members = {} }
  for i = 0, core.ilk_members_count(found) - 1 do
    local id = core.ilk_members_id(found, i)
    local ids = change[kinds[core.ilk_members_change(found, i)]]
    ids[#ids + 1] = id
    known[id] = ids ~= change.left and core.ilk_members_data(found, i) or nil
  end
  for id, data in pairs(known) do
    change.members[id] = data
  end
  return change
end

---@class interlock.GroupWatch
local Watch = {}

--- Return the next change: first all members as joined, then each change.
---
--- Blocks until there is one, the time is over, or Ctrl-C raises an error.
---@param timeout_ms number? milliseconds; 0 checks once, nil waits for ever
---@return interlock.GroupChange? change
---@return string? msg
---@return integer? code ILK_EBUSY for 0, ILK_ETIMEOUT otherwise, and others
function Watch:next(timeout_ms)
  local ms = args.timeout("timeout_ms", timeout_ms)
  local found, msg, code = wait.by(self._handle, ms, core.ilk_group_watch, core.ilk_group_cancel)
  if not found then
    return nil, msg, code
  end
  return change_of(self._known, found)
end

--- Start next().
---@param timeout_ms number? as for next
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Watch:next_start(timeout_ms)
  local ms = args.timeout("timeout_ms", timeout_ms)
  local change
  return op.wrap(self, function(handle)
    change = change or change_of(self._known, core.ilk_op_members(handle))
    return change
  end, core.ilk_group_watch_start(self._handle, ms))
end

--- Cancel a wait that a signal has interrupted.
---@return true? ok
---@return string? msg
---@return integer? code
function Watch:cancel()
  return core.ilk_group_cancel(self._handle)
end

local watch_meta = { __index = Watch }

-- Makes `for change in group:watch() do` end when the client is closed.
function watch_meta.__call(self)
  local change, msg, code = self:next()
  if not change and code ~= core.ILK_ECLOSED then
    error(msg, 2)
  end
  return change
end

-- ---- groups -----------------------------------------------------------------

---@class interlock.Group
---@field name string
local Group = {}

local meta = object.metatable("group", Group, {})

--- Join as a member, with data that all can read.
---@param id string 1 to 512 bytes
---@param data string? any bytes, up to 4 KiB; default ""
---@param opts interlock.MemberOptions?
---@return interlock.Member? member
---@return string? msg
---@return integer? code ILK_EHELD: a member with this id is in
function Group:join(id, data, opts)
  args.bytes("id", id)
  args.optional_bytes("data", data)
  local record = options.fill(core.ilk_member_opts_init(), rules, opts)
  local member, msg, code = object.wrap(member_meta, self._client, self.name,
    core.ilk_member_open(self._handle, id, record))
  if not member then
    return nil, msg, code
  end
  local ok
  ok, msg, code = core.ilk_member_join(member._handle, data)
  if not ok then
    return nil, msg, code
  end
  return keep(self._client, member)
end

--- Start join().
---@param id string as for join
---@param data string? as for join
---@param opts interlock.MemberOptions?
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Group:join_start(id, data, opts)
  args.bytes("id", id)
  args.optional_bytes("data", data)
  local record = options.fill(core.ilk_member_opts_init(), rules, opts)
  local member, msg, code = object.wrap(member_meta, self._client, self.name,
    core.ilk_member_open(self._handle, id, record))
  if not member then
    return nil, msg, code
  end
  local started
  started, msg, code = op.wrap(member, function()
    return member
  end, core.ilk_member_join_start(member._handle, data))
  if not started then
    return nil, msg, code
  end
  rawset(member, "_join", started)
  keep(self._client, member)
  return started
end

--- Return the data of all members by id.
---@return table<string, string>? members
---@return string? msg
---@return integer? code
function Group:members()
  local found, msg, code = core.ilk_group_members(self._handle)
  if not found then
    return nil, msg, code
  end
  return change_of({}, found).members
end

--- Start members().
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Group:members_start()
  return op.wrap(self, function(handle)
    return change_of({}, core.ilk_op_members(handle)).members
  end, core.ilk_group_members_start(self._handle))
end

--- Watch the group: who is in, and each change as it happens. Several changes in
--- quick succession may come as one.
---
--- `for change in group:watch() do` waits for each.
---@return interlock.GroupWatch? watch
---@return string? msg
---@return integer? code
function Group:watch()
  local handle, msg, code = core.ilk_group_open(self._client._handle, self.name)
  if not handle then
    return nil, msg, code
  end
  return setmetatable({ _handle = handle, _ops = self._ops, _known = {} }, watch_meta)
end

-- ---- a ring of the members ---------------------------------------------------

---@class interlock.GroupRing: interlock.Ring
local GroupRing = setmetatable({}, { __index = ring.methods })

local ring_meta = { __index = GroupRing }

function ring_meta.__tostring(self)
  return ("ring of %d members"):format(self:count())
end

-- Put the members on the ring, unless they are. A failure leaves the rest to the next
-- refresh, so that it begins with what the ring has.
local function follow(self)
  local nodes, known = self:nodes(), self._watch._known
  for node in pairs(nodes) do
    if known[node] == nil then
      local ok, msg, code = self:remove(node)
      if not ok then
        return nil, msg, code
      end
    end
  end
  for id in pairs(known) do
    if not nodes[id] then
      local ok, msg, code = self:add(id)
      if not ok then
        return nil, msg, code
      end
    end
  end
  return true
end

--- Put the next change of the group on the ring.
---
--- Blocks until there is one, the time is over, or Ctrl-C raises an error.
---@param timeout_ms number? milliseconds; 0, the default, asks once
---@return interlock.GroupChange? change
---@return string? msg
---@return integer? code ILK_EBUSY for 0, ILK_ETIMEOUT: there is none, and the ring has all
---  changes that were made before the call; and others
function GroupRing:refresh(timeout_ms)
  local change, msg, code = self._watch:next(timeout_ms or 0)
  local ok, ring_msg, ring_code = follow(self)
  if not ok then
    return nil, ring_msg, ring_code
  end
  return change, msg, code
end

--- Make a ring whose nodes are the ids of the members, as of its last refresh(). Lookups
--- send nothing, and a member that joins or leaves moves only its own keys.
---@param opts interlock.RingOptions?
---@return interlock.GroupRing? ring with the members of now
---@return string? msg
---@return integer? code
function Group:ring(opts)
  local watch, msg, code = self:watch()
  if not watch then
    return nil, msg, code
  end
  local made
  made, msg, code = ring.new({}, opts)
  if not made then
    return nil, msg, code
  end
  setmetatable(made, ring_meta)._watch = watch
  local change
  change, msg, code = made:refresh()
  if not change then
    return nil, msg, code
  end
  return made
end

local group = {}

--- Make a handle for the group of this name; nothing is sent. client:group(name)
---@param client interlock.Client
---@param name string 1 to 512 bytes, any bytes but a leading "ilk:"
---@return interlock.Group? group
---@return string? msg
---@return integer? code
function group.open(client, name)
  args.bytes("name", name)
  local made, msg, code = object.wrap(meta, client, name,
    core.ilk_group_open(client._handle, name))
  if made then
    rawset(made, "_client", client)
  end
  return made, msg, code
end

return group
