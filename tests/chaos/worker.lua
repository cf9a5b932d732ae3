-- SPDX-License-Identifier: MIT
-- A Lua process of the harness, by LuaJIT, which has the clock that histories need.
--
--     luajit worker.lua URL HISTORY NAME SEED STOP
--
-- history.py describes the lines. A line shorter than the buffer is one write.

local ffi = require "ffi"
local interlock = require "interlock"

local url, path, process, seed, stop = ...

ffi.cdef [[
  typedef struct { long sec; long nsec; } chaos_time;
  int clock_gettime(int clock, chaos_time *now);
  int access(const char *path, int mode);
  int usleep(unsigned microseconds);
]]

local CLOCK_MONOTONIC = 1
local LIMIT, READERS, REST_MS = 3, 1000, 50
local MEETINGS = { 100, 500, 1000 }
local STRETCH, USES = tonumber(os.getenv "CHAOS_STRETCH" or 1), os.getenv "CHAOS_USES"
local LEASES, WAITS = { 200, 200, 200, 600, 1500 }, { 0, 0, 100, 100, 500, 2000, false }

for at, lease in ipairs(LEASES) do
  LEASES[at] = lease * STRETCH
end

math.randomseed(tonumber(seed))

local history = assert(io.open(path, "a"))
history:setvbuf("full", 4096)

local time = ffi.new("chaos_time")
local function now_ns()
  ffi.C.clock_gettime(CLOCK_MONOTONIC, time)
  return tonumber(time.sec) * 1e9 + tonumber(time.nsec)
end

local function line(format, ...)
  history:write(string.format("%.0f " .. format .. "\n", now_ns(), ...))
  history:flush()
end

local function pause(ms)
  ffi.C.usleep(ms * 1000)
end

local function any(list)
  return list[math.random(#list)]
end

local function may_use(client, what)
  return client:offers(what) and (not USES or string.find(USES, what, 1, true))
end

local count = 0
local function next_op()
  count = count + 1
  return process .. ".0." .. count
end

local NO = { ILK_EBUSY = true, ILK_ETIMEOUT = true, ILK_ELOST = true }

local function ended(op, ok, code)
  local status = not ok and interlock.status[code]
  line("e %s %s", op, ok and "ok" or NO[status] and "no" or status)
  return ok or NO[status]
end

local function claim(op, handle)
  local began = now_ns()
  local left = handle:remaining_ms()
  if left > 0 then
    line("s %s until=%.0f", op, began + left * 1e6)
  end
end

-- The names of a hold's verbs in other primitives.
local VERBS = { election = { acquire = "campaign", extend = "renew", release = "resign" } }

local function verb(handle, kind, name)
  return handle[VERBS[kind] and VERBS[kind][name] or name]
end

-- Read a value that fences guard; under a fence, write another.
local function read_guarded(client, number, fence)
  local op, name = next_op(), "guard" .. number
  line("b %s get guard %s fence=%.0f", op, name, fence)
  local found, _, code = client:guard(name):get(fence)
  if not found then
    return ended(op, false, code)
  end
  line("e %s ok data=%s seen=%.0f", op, found.value or "", found.fence)
  return true
end

local function change_guarded(client, number, fence)
  read_guarded(client, number, fence)
  local op, name = next_op(), "guard" .. number
  line("b %s put guard %s fence=%.0f data=%s", op, name, fence, op)
  local ok, _, code = client:guard(name):set(op, fence)
  return ended(op, ok, code)
end

-- Acquire, stay for a while, sometimes beyond the lease, perhaps extend, release.
-- Returns whether no error of the library occurred.
local function hold(client, handle, kind, name, ttl, units, capacity)
  local op, wait = next_op(), any(WAITS)
  line("b %s acquire %s %s wait=%s ttl=%d units=%d capacity=%d", op, kind, name,
    tostring(wait), ttl, units, capacity)
  local ok, _, code = verb(handle, kind, "acquire")(handle, wait or nil)
  if not ok then
    return ended(op, false, code)
  end
  line("e %s ok fence=%.0f token=%s", op, handle.fence, handle.token)
  claim(op, handle)
  local stay = math.random()
  local late = stay < 0.01
  pause(late and ttl * 1.3 or stay < 0.5 and 0 or stay * 5)
  claim(op, handle)
  local changes = kind == "lock" and (late or math.random() < 0.3)
  if changes and may_use(client, "guard") then
    change_guarded(client, string.match(name, "%d+"), handle.fence)
  end
  if math.random() < (late and 0.7 or 0.3) then
    local extend = next_op()
    line("b %s extend %s %s hold=%s", extend, kind, name, op)
    ok, _, code = verb(handle, kind, "extend")(handle, any(LEASES))
    ended(extend, ok, code)
    if ok then
      claim(op, handle)
      pause(late and 10 or 0)
      claim(op, handle)
    end
  end
  local release = next_op()
  line("b %s release %s %s hold=%s", release, kind, name, op)
  ok, _, code = verb(handle, kind, "release")(handle)
  return ended(release, ok, code)
end

local function lock(client)
  local ttl, name = any(LEASES), "lock" .. math.random(0, 3)
  local handle = client:lock(name, { ttl_ms = ttl, renew = math.random() < 0.6 })
  return hold(client, handle, "lock", name, ttl, 1, 1)
end

local function rw(client)
  local ttl, name, writes = any(LEASES), "rw" .. math.random(0, 1), math.random() < 0.4
  local both = client:rwlock(name, { ttl_ms = ttl })
  local units = writes and READERS or 1
  return hold(client, writes and both.write or both.read, "rw", name, ttl, units, READERS)
end

local function semaphore(client)
  local ttl, units = any(LEASES), math.random(2)
  local handle = client:semaphore("sem0", LIMIT, { ttl_ms = ttl, permits = units })
  return hold(client, handle, "semaphore", "sem0", ttl, units, LIMIT)
end

local function election(client)
  local ttl = any(LEASES)
  local handle = client:election("elect0", { ttl_ms = ttl, renew = math.random() < 0.6 })
  return hold(client, handle, "election", "elect0", ttl, 1, 1)
end

-- An event of its own for each half second; some wait for the next one.
local function event(client)
  local op, sets, number = next_op(), math.random() < 0.4, math.floor(now_ns() / 5e8)
  local name = "event" .. (sets and number or number + 1)
  line("b %s %s event %s", op, sets and "set" or "wait", name)
  local one = client:event(name)
  local ok, code, _
  if sets then
    ok, _, code = one:set()
  else
    ok, _, code = one:wait(any(MEETINGS))
  end
  return ended(op, ok, code)
end

local function notify(client)
  local op, name = next_op(), "signal" .. math.random(0, 1)
  line("b %s notify signal %s", op, name)
  local reached, _, code = client:signal(name):notify_one(op)
  if not reached then
    return ended(op, false, code)
  end
  line("e %s ok reached=%d", op, reached)
  return true
end

local function wait_for_signal(client)
  local listen, name, wait = next_op(), "signal" .. math.random(0, 1), any(MEETINGS)
  local signal = client:signal(name)
  line("b %s listen signal %s", listen, name)
  local ok, _, code = signal:listen()
  if not ended(listen, ok, code) then
    return false
  end
  local op = next_op()
  line("b %s wait signal %s hold=%s ms=%d", op, name, listen, wait)
  local data
  data, _, code = signal:wait(wait)
  if not data then
    return ended(op, false, code)
  end
  line("e %s ok data=%s", op, data)
  return true
end

-- The name says how many parties there are.
local function barrier(client)
  local op, parties, wait = next_op(), math.random(2, 3), any(MEETINGS)
  local name = "barrier" .. parties
  line("b %s wait barrier %s wait=%d parties=%d", op, name, wait, parties)
  local index, _, code = client:barrier(name, parties):wait(wait)
  local status = index and "ok" or interlock.status[code]
  line("e %s %s index=%d", op, status, index or -1)
  return index or status == "ILK_EBROKEN" or status == "ILK_ETIMEOUT"
end

local function look(client)
  return read_guarded(client, math.random(0, 3), 0)
end

local function push(client)
  local op, name = next_op(), "queue" .. math.random(0, 1)
  local queue = client:queue(name, { max_attempts = -1 })
  line("b %s push queue %s data=%s", op, name, op)
  local id, _, code = queue:push(op)
  return ended(op, id, code)
end

local function consume(client)
  local op, name = next_op(), "queue" .. math.random(0, 1)
  local queue = client:queue(name, { max_attempts = -1 })
  local wait = any { 0, 100, 500 }
  line("b %s reserve queue %s wait=%d", op, name, wait)
  local job, _, code = queue:reserve(wait, any(LEASES))
  if not job then
    return ended(op, false, code)
  end
  line("e %s ok data=%s attempts=%d", op, job.data, job.attempts)
  claim(op, job)
  local ack = next_op()
  line("b %s ack queue %s hold=%s", ack, name, op)
  local ok
  ok, _, code = job:ack()
  return ended(ack, ok, code)
end

local client = assert(interlock.connect(url,
  { lazy = true, connect_timeout_ms = 1000, reply_timeout_ms = 1000 }))
local scenarios = {}
local function add(offer, ...)
  for _, scenario in ipairs(may_use(client, offer) and { ... } or {}) do
    table.insert(scenarios, scenario)
  end
end
add("lock", lock, lock)
add("rwlock", rw)
add("semaphore", semaphore)
add("election", election)
add("queue", push, push, consume, consume)
add("event", event)
add("signal", notify, wait_for_signal)
add("barrier", barrier)
add("guard", look)
while ffi.C.access(stop, 0) ~= 0 do
  if not any(scenarios)(client) then
    pause(REST_MS)
  end
end
client:close()
