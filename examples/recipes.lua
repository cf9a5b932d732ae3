-- SPDX-License-Identifier: MIT
-- The well-known functions in a program: each verb is one side of an example.
-- See recipes.py for the verbs; this one takes the same and prints the same.

local interlock = require "interlock"
local recipes = interlock.recipes

local client = assert(interlock.connect())
local r = recipes.bind(client)

local function show(data)
  print(data or "nothing")
end

local function sleep(seconds)
  os.execute(("sleep %f"):format(seconds))
end

local verbs = {}

function verbs.wait(channel)
  show(assert(r:wait(channel)).data)
end

function verbs.signal(channel, data)
  print(("%d"):format(assert(r:signal_broadcast(channel, data))))
end

verbs["wait-single"] = function(channel, me)
  show(assert(r:wait_single(channel, me)).data)
end

verbs["signal-single"] = function(channel, data)
  print(("%d"):format(assert(r:signal_single(channel, data))))
end

function verbs.push(kind, queue, data)
  if kind == "task" then
    assert(recipes.fifo_queue_push(client, queue, data))
  elseif kind == "delayed" then
    assert(recipes.delayed_queue_push(client, queue, data, 200))
  else
    local name = kind == "safe" and "safe_fifo_push" or kind .. "_push"
    assert(r[name](r, queue, data))
  end
end

function verbs.pop(kind, queue)
  if kind == "safe" then
    r:safe_fifo_pop(queue, queue .. ":cache", show)
  elseif kind == "delayed" then
    for _, task in ipairs(assert(recipes.delayed_queue_pop(client, queue))) do
      show(task)
    end
  elseif kind == "task" then
    show(recipes.fifo_queue_pop(client, queue))
  else
    show(r[kind .. "_pop"](r, queue))
  end
end

function verbs.master(times)
  for _ = 1, times do
    print(r:master() and "leads" or "follows")
    io.stdout:flush()
    sleep(0.2)
  end
end

function verbs.semaphore(name, limit, seconds)
  local permit = recipes.acquire_semaphore_with_lock(client, name,
    tonumber(limit), 10000)
  print(permit and "holds" or "full")
  io.stdout:flush()
  if permit then
    sleep(seconds)
    recipes.refresh_fair_semaphore(client, name, permit)
    local ok = recipes.release_fair_semaphore(client, name, permit)
    print("released " .. (ok and 1 or 0))
  end
end

function verbs.sell(seller, item, price, buyer)
  local data = ('{"seller_id": "%s", "item_id": "%s", "price": "%s", '
    .. '"buyer_id": "%s", "time": %d}'):format(seller, item, price, buyer,
    os.time())
  assert(recipes.fifo_queue_push(client, "queue:email", data))
end

-- A JSON library's work; enough for what these programs write.
local function field(packed, name)
  return packed:match(('"%s": "([^"]*)"'):format(name))
end

function verbs.mail(count)
  local consumer = assert(recipes.consumer(client, { "queue:email" }))
  for _ = 1, count do
    local _, packed = assert(consumer:pop())
    print(("to %s: %s bought %s"):format(field(packed, "seller_id"),
      field(packed, "buyer_id"), field(packed, "item_id")))
    consumer:done() -- only now is it gone from the server
  end
  consumer:leave()
end

function verbs.job(queue, name, argument)
  local job = ('["%s", ["%s"]]'):format(name, argument)
  assert(recipes.fifo_queue_push(client, queue, job))
end

function verbs.work(queue, count)
  local done = 0
  local callbacks = {
    greet = function(who)
      print("hello " .. who)
      done = done + 1
    end,
  }
  local function decode(packed)
    local name, argument = packed:match('^%["([^"]*)", %["([^"]*)"%]%]$')
    return assert(name), { argument }
  end
  assert(recipes.worker_watch_queue(client, queue, callbacks, decode,
    function()
      return done == tonumber(count)
    end))
end

function verbs.urgent(count)
  local consumer = assert(recipes.consumer(client,
    { "queue:high", "queue:medium", "queue:low" }))
  for _ = 1, count do
    print(table.concat({ assert(consumer:pop()) }, " "))
    consumer:done()
  end
  consumer:leave()
end

verbs[arg[1]](arg[2], arg[3], arg[4], arg[5])
client:close()
