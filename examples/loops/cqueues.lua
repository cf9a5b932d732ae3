-- SPDX-License-Identifier: MIT
-- A hundred coroutines that wait for one lock, in an event loop of cqueues.
--
--   lua cqueues.lua
--
-- The first has the lock until another has waited in vain and one was
-- cancelled; then all others have it, one after the other.

local interlock = require "interlock"
local condition = require "cqueues.condition"
local cqueues = require "cqueues"

local client = assert(interlock.connect())
local notifications = assert(client:notifications())
local loop = cqueues.new()

local left, turns = 0, 0
local over = condition.new()

local function spawn(body)
  left = left + 1
  loop:wrap(function()
    body()
    left = left - 1
    if left == 0 then
      over:signal()
    end
  end)
end

local sleeping = {} -- conditions of coroutines, by what they wait for

-- Let others run until it is done; what the method without _start answers.
local function await(op, ...)
  if not op then
    return nil, ...
  end
  if not op.done then
    local done = condition.new()
    sleeping[op.id] = done
    done:wait()
  end
  return op:result()
end

loop:wrap(function()
  local news = { pollfd = notifications.fd, events = "r" }
  while left > 0 do
    cqueues.poll(news, over)
    for notification in notifications.next, notifications do
      local done = sleeping[notification.id]
      if done then
        sleeping[notification.id] = nil
        done:signal()
      end
    end
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

assert(loop:loop())
print(("%d had the lock"):format(turns))
client:close()
