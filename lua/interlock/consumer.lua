-- SPDX-License-Identifier: MIT
-- One who takes messages from raw lists, to which others push.
--
-- What is taken stays on the server until it is settled. When its process
-- dies the other consumers put it back: a message is handled at least once.

local core = require "interlock.core"
local args = require "interlock.args"
local raw = require "interlock.raw"

local consumer = {}

-- After so long a worker without jobs looks whether it is to end.
local LOOK_MS = 2000

---@class interlock.Consumer
local Consumer = {}

local consumer_meta = { __index = Consumer }

function consumer_meta.__close(self)
  self:leave()
end

--- One who takes messages from the heads of lists, the first that has one.
---@param client interlock.Client
---@param queues string[]
---@return interlock.Consumer? consumer
---@return string? msg
---@return integer? code
function consumer.open(client, queues)
  args.names("queues", queues)
  local handle, msg, code = core.ilk_consumer_open(client._handle, queues)
  if not handle then
    return nil, msg, code
  end
  return setmetatable({ _handle = handle }, consumer_meta)
end

--- The next message.
---@param timeout_ms number? nil waits for ever
---@return string|false|nil queue false when none came in time
---@return string? message or why it failed
---@return integer? code
function Consumer:pop(timeout_ms)
  local ms = args.timeout("timeout_ms", timeout_ms)
  local found, msg, code = raw.wait(ms, function(left)
    return core.ilk_consumer_pop(self._handle, left)
  end)
  if not found then
    return found, msg, code
  end
  return found[1], found[2]
end

local function settle(self, how)
  return raw.unless_lost(core.ilk_consumer_settle(self._handle, how))
end

--- The message was handled; false when others have put it back.
function Consumer:done()
  return settle(self, core.ILK_RECIPES_DONE)
end

--- The message goes back to the head of its queue.
function Consumer:put_back()
  return settle(self, core.ILK_RECIPES_BACK)
end

--- Nobody can handle it: to `ilk:recipes:dead:{queue}`.
function Consumer:bury()
  return settle(self, core.ILK_RECIPES_DEAD)
end

--- Give back what is not settled, and be no consumer any more.
function Consumer:leave()
  return core.ilk_consumer_leave(self._handle)
end

--- Call callbacks[name](...) for each message of a list until quit() is true.
---
--- `decode` makes a name and a list of arguments of a message, or raises: it
--- is a JSON library's, for messages as others write them. What nobody can
--- handle goes to the dead letters, as does a message whose callback raises;
--- that error then leaves this function.
---@param client interlock.Client
---@param queue string
---@param callbacks table<string, fun(...)>
---@param decode fun(message: string): string, table
---@param quit fun(): boolean
---@return true? ok
---@return string? msg
---@return integer? code
function consumer.work(client, queue, callbacks, decode, quit)
  args.callable("decode", decode)
  args.callable("quit", quit)
  local unpack = table.unpack or unpack -- luacheck: ignore
  local taker, msg, code = consumer.open(client, { queue })
  if not taker then
    return nil, msg, code
  end
  while not quit() do
    local from, message
    from, message, code = taker:pop(LOOK_MS)
    if from == nil then
      taker:leave()
      return nil, message, code
    end
    if from then
      local known, name, values = pcall(decode, message)
      local callback = known and callbacks[name]
      local ran, problem = true, nil
      if callback then
        ran, problem = pcall(callback, unpack(values))
      end
      if callback and ran then
        taker:done()
      else
        taker:bury()
      end
      if not ran then
        taker:leave()
        error(problem, 0)
      end
    end
  end
  return taker:leave()
end

return consumer
