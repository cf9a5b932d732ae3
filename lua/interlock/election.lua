-- SPDX-License-Identifier: MIT
-- The election: one of many candidates leads, for a term.

local core = require "interlock.core"
local args = require "interlock.args"
local hold = require "interlock.hold"
local op = require "interlock.op"
local options = require "interlock.options"
local wait = require "interlock.wait"

---@class interlock.Election: interlock.Hold
---@field is_leader boolean whether it leads for sure, by the local clock
---@field term integer of this leadership or the last one; 0 before the first
local Election = {}

---@class interlock.ElectionOptions
---@field ttl_ms number? the lease of a leader; default 20000
---@field value string? what it publishes while it leads; any bytes
---@field identity string? a stable identity, to lead on after a restart
---@field renew boolean? renew the lease while it leads; default true
---@field max_hold_ms number? end the hold after this unless it is extended; default no limit

local rules = {
  ttl_ms = { "duration" },
  max_hold_ms = { "duration" },
  value = { "bytes", least = 0 },
  identity = { "bytes", least = 1 },
  renew = { "flag", core.ILK_ELECTION_NO_RENEW, when = false },
}

local functions = {
  acquire = core.ilk_election_campaign,
  acquire_start = core.ilk_election_campaign_start,
  cancel = core.ilk_election_cancel,
  release = core.ilk_election_resign,
  release_start = core.ilk_election_resign_start,
  extend = core.ilk_election_renew,
  extend_start = core.ilk_election_renew_start,
  check = core.ilk_election_check,
  check_start = core.ilk_election_check_start,
  proclaim_start = core.ilk_election_proclaim_start,
  held = core.ilk_election_is_leader,
  remaining_ms = core.ilk_election_remaining_ms,
  fence = core.ilk_election_term,
  token = core.ilk_election_token,
  id = core.ilk_election_id,
}

local meta = hold.metatable("election", Election, functions, {
  is_leader = function(self)
    return functions.held(self._handle) == 1
  end,
  term = function(self)
    return functions.fence(self._handle)
  end,
})

--- Stay in the wait queue until this candidate leads; at once when it does.
---
--- Blocks until it leads, the time is over, or Ctrl-C raises an error.
---@param timeout_ms number? milliseconds; 0 tries once, nil waits for ever
---@return true? ok
---@return string? msg
---@return integer? code ILK_EBUSY for 0, ILK_ETIMEOUT otherwise, and others
---@return string? token with ILK_EHELD: of the leadership of a collected object
function Election:campaign(timeout_ms)
  local ms = args.timeout("timeout_ms", timeout_ms)
  return hold.acquire(self, ms, functions.acquire)
end

--- Start campaign().
---@param timeout_ms number? as for campaign
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Election:campaign_start(timeout_ms)
  local ms = args.timeout("timeout_ms", timeout_ms)
  return hold.start(self, "acquire", ms)
end

--- Take back the leadership of a collected object of the same client.
---@param token string
---@return true? ok
---@return string? msg
---@return integer? code ILK_ELOST: there is none with this token and this name
function Election:adopt(token)
  return hold.take_back(self, token)
end

--- Give up the leadership; the first candidate in the wait queue leads next.
---@return true? ok
---@return string? msg
---@return integer? code ILK_ELOST: the leadership had been lost
function Election:resign()
  return functions.release(self._handle)
end

--- Start resign(); the leadership counts as given up at once.
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Election:resign_start()
  return hold.start(self, "release")
end

--- Set the remaining lease, for candidates made with renew = false.
---@param ttl_ms number? milliseconds; nil for the ttl_ms it was made with
---@return true? ok
---@return string? msg
---@return integer? code
function Election:renew(ttl_ms)
  local ms = args.duration("ttl_ms", ttl_ms)
  return functions.extend(self._handle, ms)
end

--- Start renew().
---@param ttl_ms number? as for renew
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Election:renew_start(ttl_ms)
  local ms = args.duration("ttl_ms", ttl_ms)
  return hold.start(self, "extend", ms)
end

--- Publish another value, in this and in later terms.
---@param value string any bytes, up to 64 KiB
---@return true? ok
---@return string? msg
---@return integer? code ILK_ELOST: the leadership is lost, nothing is published
function Election:proclaim(value)
  args.bytes("value", value)
  return core.ilk_election_proclaim(self._handle, value)
end

--- Start proclaim().
---@param value string as for proclaim
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Election:proclaim_start(value)
  args.bytes("value", value)
  return hold.start(self, "proclaim", value)
end

local function value_of(found)
  return core.ilk_leader_value(found) or false
end

--- Return the value that the leader publishes.
---@return string|false|nil value false when nobody leads
---@return string? msg
---@return integer? code
function Election:leader()
  local found, msg, code = core.ilk_election_leader(self._handle)
  if not found then
    return nil, msg, code
  end
  return value_of(found)
end

--- Start leader().
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Election:leader_start()
  return op.wrap(self, function(handle)
    return value_of(core.ilk_op_leader(handle))
  end, core.ilk_election_leader_start(self._handle))
end

---@class interlock.Leader
---@field value string|false what the leader publishes; false: nobody leads
---@field term integer the leader's term, else the last one
---@field label string the label of its client, host:pid by default
---@field since_ms integer begin, by the server's clock; 0: nobody leads
---@field ttl_ms integer the remaining lease
---@field candidates string[] labels of the first 100 in the wait queue, in order
---@field waiting integer how many candidates are in the wait queue in all

local function to_leader(found)
  local labels = {}
  for i = 1, core.ilk_leader_listed(found) do
    labels[i] = core.ilk_leader_candidate_label(found, i - 1)
  end
  return {
    value = value_of(found),
    term = core.ilk_leader_term(found),
    label = core.ilk_leader_label(found),
    since_ms = core.ilk_leader_since_ms(found),
    ttl_ms = core.ilk_leader_ttl_ms(found),
    candidates = labels,
    waiting = core.ilk_leader_candidates(found),
  }
end

--- Return who leads, since when, and who is in the wait queue.
---@return interlock.Leader? leader
---@return string? msg
---@return integer? code
function Election:inspect()
  local found, msg, code = core.ilk_election_leader(self._handle)
  if not found then
    return nil, msg, code
  end
  return to_leader(found)
end

--- Start inspect().
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Election:inspect_start()
  return op.wrap(self, function(handle)
    return to_leader(core.ilk_op_leader(handle))
  end, core.ilk_election_leader_start(self._handle))
end

---@class interlock.Observer
local Observer = {}

--- Return the next new leadership: the present one, then each change.
---
--- Blocks until there is one, the time is over, or Ctrl-C raises an error.
---@param timeout_ms number? milliseconds; 0 checks once, nil waits for ever
---@return string|false|nil value false when nobody leads
---@return integer|string? term or the error's text
---@return integer? code ILK_EBUSY for 0, ILK_ETIMEOUT otherwise, and others
function Observer:next(timeout_ms)
  local ms = args.timeout("timeout_ms", timeout_ms)
  local found, msg, code = wait.by(self._handle, ms, core.ilk_observer_next,
    core.ilk_observer_cancel)
  if not found then
    return nil, msg, code
  end
  return value_of(found), core.ilk_leader_term(found)
end

--- Start next().
---@param timeout_ms number? as for next
---@return interlock.Op? op
---@return string? msg
---@return integer? code
function Observer:next_start(timeout_ms)
  local ms = args.timeout("timeout_ms", timeout_ms)
  return op.wrap(self, function(handle)
    local found = core.ilk_op_leader(handle)
    return value_of(found), core.ilk_leader_term(found)
  end, core.ilk_observer_next_start(self._handle, ms))
end

--- Cancel a wait that a signal has interrupted.
---@return true? ok
---@return string? msg
---@return integer? code
function Observer:cancel()
  return core.ilk_observer_cancel(self._handle)
end

local observer_meta = { __index = Observer }

-- Makes `for value, term in election:observe() do` end when the client is closed.
function observer_meta.__call(self)
  local value, term, code = self:next()
  if value == nil and code ~= core.ILK_ECLOSED then
    error(term, 2)
  end
  return value, term
end

--- Observe the election: who leads, and each change as it happens. Of several
--- changes in quick succession only the last is certain to be reported.
---
--- `for value, term in election:observe() do` waits for each.
---@param opts { vacant: boolean? }? vacant reports also that nobody leads
---@return interlock.Observer? observer
---@return string? msg
---@return integer? code
function Election:observe(opts)
  local vacant = { vacant = { "flag", core.ILK_OBSERVE_VACANT, when = true } }
  local record = options.fill({ flags = 0 }, vacant, opts)
  local handle, msg, code =
    core.ilk_election_observe(self._handle, record.flags)
  if not handle then
    return nil, msg, code
  end
  local fields = { _handle = handle, _ops = self._ops }
  return setmetatable(fields, observer_meta)
end

local election = {}

--- Make a candidate in the election of this name; nothing is sent.
--- client:election(name, opts)
---@param client interlock.Client
---@param name string 1 to 512 bytes, any bytes but a leading "ilk:"
---@param opts interlock.ElectionOptions?
---@return interlock.Election? election
---@return string? msg
---@return integer? code
function election.open(client, name, opts)
  args.bytes("name", name)
  local record = options.fill(core.ilk_election_opts_init(), rules, opts)
  local made, msg, code = hold.wrap(meta, client, { name = name }, opts,
    core.ilk_election_open(client._handle, name, record))
  return made, msg, code
end

return election
