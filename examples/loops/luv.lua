-- SPDX-License-Identifier: MIT
-- A hundred coroutines that wait for one lock, in libuv's event loop.
--
--   lua luv.lua
--
-- The first has the lock until another has waited in vain and one was
-- cancelled; then all others have it, one after the other.

local interlock = require "interlock"
local uv = require "luv"

local client = assert(interlock.connect())
local notifications = assert(client:notifications())
local news = uv.new_poll(notifications.fd)

local left, turns = 0, 0

local function resume(thread)
  local ran, problem = coroutine.resume(thread)
  if not ran then
    error(debug.traceback(thread, problem), 0)
  end
end

local function spawn(body)
  left = left + 1
  resume(coroutine.create(function()
    body()
    left = left - 1
  end))
end

local sleeping = {} -- coroutines, by what they wait for

-- Let others run until it is done; what the method without _start answers.
local function await(op, ...)
  if not op then
    return nil, ...
  end
  if not op.done then
    sleeping[op.id] = coroutine.running()
    coroutine.yield()
  end
  return op:result()
end

news:start("r", function()
  for notification in notifications.next, notifications do
    local thread = sleeping[notification.id]
    if thread then
      sleeping[notification.id] = nil
      resume(thread)
    end
  end
  if left == 0 then
    news:close() -- nothing is left to run for
  end
end)

spawn(function()
  local lock = assert(client:lock("orders"))
  assert(await(lock:acquire_start()))
  turns = turns + 1

  local unwanted = assert(client:lock("orders"):acquire_start())
  spawn(function()
    local ok, _, code = await(unwanted)
    assert(not ok and code == interlock.status.ILK_ECANCELLED)
    print("one was cancelled")
  end)
  for _ = 1, 97 do
    spawn(function()
      local mine = assert(client:lock("orders"))
      assert(await(mine:acquire_start()))
      turns = turns + 1
      assert(await(mine:release_start()))
    end)
  end

  local ok, _, code = await(client:lock("orders"):acquire_start(100))
  assert(not ok and code == interlock.status.ILK_ETIMEOUT)
  print("one has waited in vain")
  assert(unwanted:cancel())
  assert(await(lock:release_start()))
end)

uv.run()
print(("%d had the lock"):format(turns))
client:close()
