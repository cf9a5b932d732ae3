-- SPDX-License-Identifier: MIT
-- The holds whose objects were collected: their client keeps and renews them.
--
-- A client has a table of records, one for each object of a handle with a lease:
--
--   client._records[id] = record   { handle, title, claim, collected, ... }
--         ^                  ^
--         |                  +-- the object has the record, too
--         +-- the object's sentinel, whose finalizer runs when the object is
--             collected: it removes the record, or marks it as collected
--
-- The record keeps the handle from being finalized together with the object.

local core = require "interlock.core"
local at_close = require "interlock.at_close"

local warn = rawget(_G, "warn")

local kept_holds = {}

local function is_held(record)
  return record.functions.held(record.handle) == 1
end

-- Give the object a record. Its sentinel is made after the record's handle, and so is
-- finalized before it when both are garbage together.
local function guard(records, made, record)
  local number = record.functions.id(record.handle)
  records[number] = record
  made._record = record
  made._sentinel = at_close.sentinel(function()
    if records[number] ~= record then
      return -- the object has another handle since
    elseif not record.renews or not is_held(record)
      or not core.ilk_client_notify_kept(record.client, number) then
      records[number] = nil
      return
    end
    record.collected = true
    if warn then -- Lua 5.4
      warn(record.title, " was collected while it was held: its client goes on holding it")
    end
  end)
  at_close.renew()
end

--- Make the record of an object, and the object's sentinel.
---@param client interlock.Client
---@param made table the object
---@param handle userdata
---@param functions table<string, function>
---@param renews boolean whether the lease is renewed
---@param claim table space, names, and shared, or permits and limit
function kept_holds.watch(client, made, handle, functions, renews, claim)
  made._records = client._records
  guard(client._records, made, {
    handle = handle,
    client = client._handle,
    functions = functions,
    renews = renews,
    claim = claim,
    title = ("%s %s"):format(claim.noun, made._title),
  })
end

local function overlap(names, others)
  for _, name in ipairs(names) do
    for _, other in ipairs(others) do
      if name == other then
        return true
      end
    end
  end
  return false
end

-- The collected holds that have names in common with the claim.
local function rivals(records, claim)
  local found = {}
  for _, record in pairs(records) do
    local other = record.claim
    if record.collected and other.space == claim.space
      and overlap(other.names, claim.names) and is_held(record) then
      found[#found + 1] = record
    end
  end
  return found
end

-- Whether the server cannot grant the claim while the others are held.
local function excludes(claim, others)
  local permits = claim.permits or 0
  for _, record in ipairs(others) do
    if not claim.limit and not (claim.shared and record.claim.shared) then
      return true
    end
    permits = permits + (record.claim.permits or 0)
  end
  return claim.limit ~= nil and permits > claim.limit
end

local function held_by_collected(record)
  return record.title .. " is held by an object of this client that was collected:"
    .. " adopt() takes it back by its token"
end

--- Refuse an acquire that collected holds of the same client exclude.
---@return string? msg
---@return integer? code ILK_EHELD
---@return string? token of the hold, for adopt()
function kept_holds.refuse(self)
  local found = rivals(self._records, self._record.claim)
  if #found > 0 and excludes(self._record.claim, found) then
    local record = found[1]
    return held_by_collected(record), core.ILK_EHELD, record.functions.token(record.handle)
  end
end

--- The text and the token of a collected hold, for its notification.
---@return string? msg
---@return string? token
function kept_holds.describe(client, id)
  local record = client._records[id]
  if record and record.collected then
    return held_by_collected(record), record.functions.token(record.handle)
  end
end

--- Free the handle of a collected hold that has ended.
function kept_holds.forget(client, id)
  local record = client._records[id]
  if record and record.collected then
    client._records[id] = nil
  end
end

-- Remove and return the collected hold with this token.
local function take(self, token)
  for id, record in pairs(self._records) do
    if record.collected and record.functions.token(record.handle) == token then
      self._records[id] = nil
      return record
    end
  end
end

--- Free the handle that held under this token until it was adopted by self.
function kept_holds.drop(self, token)
  local record = take(self, token)
  if record then -- waits until no renewal of it is in flight
    record.functions.detach(record.handle)
  end
end

--- Take back the hold of a collected object, with its handle.
---@return true? ok
---@return string? msg
---@return integer? code ILK_ELOST: no such hold of these names
function kept_holds.take_back(self, client_holds, token)
  if self.held then
    return nil, core.ilk_strerror(core.ILK_EHELD), core.ILK_EHELD
  end
  local found
  for _, record in ipairs(rivals(self._records, self._record.claim)) do
    if record.functions.token(record.handle) == token then
      found = record
    end
  end
  if not found or #found.claim.names ~= #self._record.claim.names then
    return nil, core.ilk_strerror(core.ILK_ELOST), core.ILK_ELOST
  end
  self._records[self.id] = nil
  found.collected = nil
  local record = {}
  for key, value in pairs(self._record) do
    record[key] = value
  end
  record.handle, self._handle = found.handle, found.handle
  guard(self._records, self, record)
  client_holds[self.id] = self
  return true
end

return kept_holds
