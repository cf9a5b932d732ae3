-- SPDX-License-Identifier: MIT
-- Well-known functions on plain Redis keys, without their races.
--
-- They have the widely known names, keys and formats, so that other programs use
-- the same keys at once; docs/recipes.md shows each. A function that finds nothing
-- returns false, because nil is an error.

local core = require "interlock.core"
local args = require "interlock.args"
local consumer = require "interlock.consumer"
local lock = require "interlock.lock"
local recipe_result = require "interlock.recipe_result"

local unless_lost = recipe_result.unless_lost

local recipes = {}

local HEAD, TAIL = core.ILK_RECIPES_HEAD, core.ILK_RECIPES_TAIL

-- The locks that were acquired here, by token: they renew while they are kept.
local held = {}

local function push(client, key, edge, value)
  args.bytes("queue", key)
  args.bytes("value", value)
  local ok, msg, code =
    core.ilk_recipes_push(client._handle, key, edge, value)
  if not ok then
    return nil, msg, code
  end
  return true
end

local function pop(client, key, edge)
  args.bytes("queue", key)
  return recipe_result.one(core.ilk_recipes_pop(client._handle, key, edge))
end

--- Acquire the lock `lock:<lockname>`; it is renewed until it is released.
---@param client interlock.Client
---@param lockname string
---@param timeout_ms number? default 10000
---@return string|false|nil identifier false when the time ran out
---@return string? msg
---@return integer? code
function recipes.acquire_lock(client, lockname, timeout_ms)
  args.bytes("lockname", lockname)
  local ms = args.timeout("timeout_ms", timeout_ms or 10000)
  local handle, msg, code = lock.open(client, "lock:" .. lockname)
  if not handle then
    return nil, msg, code
  end
  local ok
  ok, msg, code = handle:acquire(ms)
  if ok then
    held[handle.token] = handle
    return handle.token
  elseif code == core.ILK_EBUSY or code == core.ILK_ETIMEOUT then
    return false
  end
  return nil, msg, code
end

--- Release the lock; the identifier may come from another process.
---@param client interlock.Client
---@param lockname string
---@param identifier string
---@return boolean? ok false when this identifier no longer holds it
---@return string? msg
---@return integer? code
function recipes.release_lock(client, lockname, identifier)
  args.bytes("lockname", lockname)
  args.bytes("identifier", identifier)
  local name = "lock:" .. lockname
  local mine = held[identifier]
  if mine and mine.name == name then
    held[identifier] = nil
    return unless_lost(mine:release())
  end
  local msg, code
  mine, msg, code = lock.open(client, name)
  if not mine then
    return nil, msg, code
  end
  local ok
  ok, msg, code = unless_lost(mine:adopt(identifier))
  if not ok then
    return ok, msg, code
  end
  return unless_lost(mine:release())
end

--- Acquire a permit of the fair semaphore.
---@param client interlock.Client
---@param semname string
---@param limit integer
---@param timeout_ms number? how long a permit lasts; default 10000
---@return string|false|nil identifier false when all permits are held
---@return string? msg
---@return integer? code
function recipes.acquire_fair_semaphore(client, semname, limit, timeout_ms)
  args.bytes("semname", semname)
  local ms = args.timeout("timeout_ms", timeout_ms or 10000)
  local items, msg, code =
    core.ilk_recipes_permit(client._handle, semname, limit, ms)
  if not items and code == core.ILK_EBUSY then
    return false
  end
  return recipe_result.one(items, msg, code)
end

--- Release a permit.
---@return boolean? ok false when it had expired
---@return string? msg
---@return integer? code
function recipes.release_fair_semaphore(client, semname, identifier)
  args.bytes("semname", semname)
  args.bytes("identifier", identifier)
  return unless_lost(
    core.ilk_recipes_permit_release(client._handle, semname, identifier))
end

--- Restart the time of a permit.
---@return boolean? ok false when it has expired
---@return string? msg
---@return integer? code
function recipes.refresh_fair_semaphore(client, semname, identifier)
  args.bytes("semname", semname)
  args.bytes("identifier", identifier)
  return unless_lost(
    core.ilk_recipes_permit_refresh(client._handle, semname, identifier))
end

--- As acquire_fair_semaphore, under `lock:<semname>`, which excludes programs
--- that insert in several steps under it.
---@return string|false|nil identifier
---@return string? msg
---@return integer? code
function recipes.acquire_semaphore_with_lock(client, semname, limit, timeout_ms)
  local mine, msg, code = recipes.acquire_lock(client, semname, 10)
  if not mine then
    return mine, msg, code
  end
  local ran, found
  ran, found, msg, code =
    pcall(recipes.acquire_fair_semaphore, client, semname, limit, timeout_ms)
  recipes.release_lock(client, semname, mine)
  if not ran then
    error(found, 0)
  end
  return found, msg, code
end

--- Push a task to the tail of a list.
function recipes.fifo_queue_push(client, queue, data)
  return push(client, queue, TAIL, data)
end

--- Pop the task at the head of a list; false when there is none.
function recipes.fifo_queue_pop(client, queue)
  return pop(client, queue, HEAD)
end

--- Put a task into a sorted set, due after a delay by the server's clock.
---@param delay_ms number
---@return true? ok
---@return string? msg
---@return integer? code
function recipes.delayed_queue_push(client, queue, data, delay_ms)
  args.bytes("queue", queue)
  args.bytes("data", data)
  return core.ilk_recipes_delay(client._handle, queue, delay_ms, data)
end

--- Pop the tasks that are due, each for one caller only; returns a list.
---@return string[]? tasks
---@return string? msg
---@return integer? code
function recipes.delayed_queue_pop(client, queue)
  args.bytes("queue", queue)
  local tasks = {}
  while true do
    local items, more, code = core.ilk_recipes_due(client._handle, queue)
    if not items and #tasks == 0 then
      return nil, more, code
    end
    local values = items and recipe_result.list(items) or {}
    for i = 1, #values do
      tasks[#tasks + 1] = values[i]
    end
    if not items or not more then
      return tasks
    end
  end
end

recipes.consumer = consumer.open
recipes.worker_watch_queue = consumer.work

-- ---- bound to one client ---------------------------------------------------

---@class interlock.Recipes
---@field local_selector integer the number of the tenure; 0: not the master
local Recipes = {}

local meta = { __index = Recipes }

local bound = 0 -- how many candidates bind() has made

--- The functions that are usually written over a global connection.
---@param client interlock.Client
---@return interlock.Recipes
function recipes.bind(client)
  bound = bound + 1
  local candidate = ("%s.%d"):format(client.id, bound)
  return setmetatable({
    _client = client,
    _candidate = candidate,
    local_selector = 0,
  }, meta)
end

-- Leave in any case, so that signals for other waiters are passed on.
local function wait(self, channel, myid, timeout_ms)
  args.bytes("channel", channel)
  local ms = args.timeout("timeout_ms", timeout_ms)
  local listener, msg, code =
    core.ilk_listener_open(self._client._handle, channel, myid)
  if not listener then
    return nil, msg, code
  end
  local ran, found
  ran, found, msg, code = pcall(recipe_result.wait, ms, function(left)
    return core.ilk_listener_wait(listener, left)
  end)
  -- After a timeout the listener returns a message that has arrived since.
  local timed_out = ran and found == false
  local last = core.ilk_listener_leave(listener, timed_out and 1 or 0)
  if not ran then
    error(found, 0)
  end
  if timed_out and last and core.ilk_items_count(last) > 0 then
    found = recipe_result.list(last)
  end
  if not found then
    return found, msg, code
  end
  return {
    type = "message",
    channel = found[1],
    data = found[2],
  }
end

--- Return the next message of a channel: {type, channel, data}; false after a timeout.
---@param wait_for string
---@param timeout_ms number? nil waits for ever
function Recipes:wait(wait_for, timeout_ms)
  return wait(self, wait_for, nil, timeout_ms)
end

--- Wait for a signal of signal_single, which selects one waiter.
---@param channel string
---@param myid string
---@param timeout_ms number?
function Recipes:wait_single(channel, myid, timeout_ms)
  args.bytes("myid", myid)
  return wait(self, channel, myid, timeout_ms)
end

local function signal(self, channel, single, data)
  args.bytes("channel", channel)
  args.bytes("data", data)
  return core.ilk_recipes_signal(self._client._handle, channel, single, data)
end

--- Signal all waiters; returns how many got it.
function Recipes:signal_broadcast(wait_in, data)
  return signal(self, wait_in, 0, data)
end

--- Signal one waiter; returns 0 when nobody waits.
function Recipes:signal_single(channel, data)
  return signal(self, channel, 1, data)
end

--- Become or stay the master, for 20 seconds from now.
---@return boolean? leads
---@return string? msg
---@return integer? code
function Recipes:master()
  local selector, msg, code = core.ilk_recipes_master(
    self._client._handle, "master_selector", self._candidate,
    self.local_selector, 20000)
  if not selector then
    return nil, msg, code
  end
  self.local_selector = selector
  return selector > 0
end

function Recipes:fifo_push(q, data)
  return push(self._client, q, HEAD, data)
end

function Recipes:fifo_pop(q)
  return pop(self._client, q, TAIL)
end

function Recipes:filo_push(q, data)
  return push(self._client, q, HEAD, data)
end

function Recipes:filo_pop(q)
  return pop(self._client, q, HEAD)
end

function Recipes:safe_fifo_push(q, data)
  return push(self._client, q, HEAD, data)
end

--- Pop the oldest value, which stays in `cache` until it is handled: until
--- handle(msg) has returned or, without `handle`, until it has arrived here.
---@param q string
---@param cache string
---@param handle fun(msg: string)? its error leaves the value in the cache
---@return string|false|nil msg
---@return string? why
---@return integer? code
function Recipes:safe_fifo_pop(q, cache, handle)
  args.bytes("queue", q)
  args.bytes("cache", cache)
  while true do
    local found, msg, code = recipe_result.list(
      core.ilk_recipes_park(self._client._handle, q, cache))
    if not found then
      return nil, msg, code
    elseif not found[1] then
      return false
    end
    if handle then
      handle(found[1])
    end
    local ok
    ok, msg, code = unless_lost(
      core.ilk_recipes_unpark(self._client._handle, cache, found[2]))
    if ok == nil then
      return nil, msg, code
    elseif ok or handle then
      return found[1]
    end
  end
end

--- Put all values of `cache` back, to be popped next; returns how many.
function Recipes:safe_fifo_restore(q, cache)
  args.bytes("queue", q)
  args.bytes("cache", cache)
  return core.ilk_recipes_restore(self._client._handle, q, cache)
end

return recipes
