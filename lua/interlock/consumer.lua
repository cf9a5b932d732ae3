-- SPDX-License-Identifier: MIT
-- A consumer of raw lists, to which other programs push.
--
-- A message stays on the server until it is settled. When the process dies the
-- other consumers put it back: each message is handled at least once.

local core = require "interlock.core"
local args = require "interlock.args"
local recipe_result = require "interlock.recipe_result"

local consumer = {}

-- How often a worker without jobs calls quit().
local QUIT_CHECK_MS = 2000

---@class interlock.Consumer
local Consumer = {}

local consumer_meta = { __index = Consumer }

function consumer_meta.__close(self)
  self:leave()
end

--- Make a consumer of the heads of lists; the first list with a message is served.
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

--- Return the next message.
---@param timeout_ms number? nil waits for ever
---@return string|false|nil queue false when none came in time
---@return string? message or the error's text
---@return integer? code
function Consumer:pop(timeout_ms)
  local ms = args.timeout("timeout_ms", timeout_ms)
  local found, msg, code = recipe_result.wait(ms, function(left)
    return core.ilk_consumer_pop(self._handle, left)
  end)
  if not found then
    return found, msg, code
  end
  return found[1], found[2]
end

local function settle(self, how)
  return recipe_result.unless_lost(core.ilk_consumer_settle(self._handle, how))
end

--- Settle the message as handled; false when others have put it back.
function Consumer:done()
  return settle(self, core.ILK_RECIPES_DONE)
end

--- Put the message back at the head of its queue.
function Consumer:put_back()
  return settle(self, core.ILK_RECIPES_BACK)
end

--- Move the message to `ilk:recipes:dead:{queue}`.
function Consumer:bury()
  return settle(self, core.ILK_RECIPES_DEAD)
end

--- Give back an unsettled message, and stop being a consumer.
function Consumer:leave()
  return core.ilk_consumer_leave(self._handle)
end

--- Call callbacks[name](...) for each message of a list until quit() is true.
---
--- `decode` returns a name and a list of arguments for a message, or raises; for
--- messages in JSON it calls a JSON library. A message without a callback goes to
--- the dead letters, as does one whose callback raises; that error then leaves
--- this function.
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
  local mine, msg, code = consumer.open(client, { queue })
  if not mine then
    return nil, msg, code
  end
  while not quit() do
    local from, message
    from, message, code = mine:pop(QUIT_CHECK_MS)
    if from == nil then
      mine:leave()
      return nil, message, code
    end
    if from then
      local known, name, values = pcall(decode, message)
      local callback = known and type(values) == "table" and callbacks[name]
      local ran, problem = true, nil
      if callback then
        ran, problem = pcall(function() -- more values than fit on the stack raise, too
          return callback(unpack(values))
        end)
      end
      if callback and ran then
        mine:done()
      else
        mine:bury()
      end
      if not ran then
        mine:leave()
        error(problem, 0)
      end
    end
  end
  return mine:leave()
end

return consumer
