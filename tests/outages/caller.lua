-- SPDX-License-Identifier: MIT
-- A process that starts the verbs of the Lua package while its servers come and go,
-- as caller.py does. Lua waits for no descriptor: a line `tick` lets it fetch what has
-- come, and who reads its reports notes the time.
--
--     lua caller.lua started URL GIVEN-URL AT-ONCE-URL
--     lua caller.lua verbs-started

local interlock = require "interlock"
local constants = require "interlock.constants"

local LEASE = math.floor(1000 * (os.getenv "OUTAGE_LEASE_S" or 60))
local OTHER = 20000 -- milliseconds that a call of the other client has

local rows = {}

-- A verb: `start` begins the call, on what `make` prepares; `block` lets a call wait,
-- and `serve` ends that wait with what `block` returned.
local function row(verb, make, start, block, serve)
  rows["ilk_" .. verb] = { make = make, start = start, block = block, serve = serve }
end

local function nothing() end

local function client_of(s)
  return s.client
end

local function swapped(s)
  return { client = s.other, other = s.client, name = s.name }
end

-- ---- holds ---------------------------------------------------------------------

local function lock(s)
  return s.client:lock(s.name, { ttl_ms = LEASE })
end

local function many(s)
  return s.client:lock_many({ s.name, s.name .. ":2" }, { ttl_ms = LEASE })
end

local function semaphore(s)
  return s.client:semaphore(s.name, 1, { ttl_ms = LEASE })
end

local function election(s)
  return s.client:election(s.name, { ttl_ms = LEASE, value = "me" })
end

local function release(_, holder)
  if holder and holder.held then
    return holder:release()
  end
end

local function holds(noun, new)
  local function held(s)
    local handle = new(s)
    assert(handle:acquire(OTHER))
    return handle
  end
  local function held_elsewhere(s)
    return held(swapped(s))
  end
  row(noun .. "_acquire", new, function(h, ms)
    return h:acquire_start(ms)
  end, held_elsewhere, release)
  row(noun .. "_release", held, function(h) return h:release_start() end)
  row(noun .. "_extend", held, function(h) return h:extend_start(LEASE) end)
  row(noun .. "_check", held, function(h) return h:check_start() end)
  if noun == "lock_many" then
    return
  end
  row(noun .. "_adopt", function(s)
    local donor = held_elsewhere(s)
    return { new(s), assert(donor:detach()) }
  end, function(h)
    return h[1]:adopt_start(h[2])
  end)
  row(noun .. "_break", function(s)
    return { s.client, s.name, held_elsewhere(s) }
  end, function(h)
    return h[1]:break_lock_start(h[2])
  end)
  row(noun == "lock" and "inspect_kind" or "semaphore_inspect", function(s)
    return { s.client, s.name, held_elsewhere(s) }
  end, function(h)
    local inspect = noun == "lock" and "inspect_start" or "inspect_semaphore_start"
    return h[1][inspect](h[1], h[2])
  end)
  row(noun .. "_set_limit", held, function(h) return h:set_limit_start(2) end)
end

holds("lock", lock)
holds("lock_many", many)
holds("semaphore", semaphore)
rows.ilk_lock_set_limit, rows.ilk_semaphore_break = nil, nil

local kept = {} -- members and leaders for whom a call waits

local function led(s)
  local leader = election(s)
  assert(leader:campaign(OTHER))
  return leader
end

local function led_elsewhere(s)
  return led(swapped(s))
end

row("election_campaign", election, function(h, ms)
  return h:campaign_start(ms)
end, led_elsewhere, function(_, leader)
  return leader and leader.is_leader and leader:resign()
end)
row("election_resign", led, function(h) return h:resign_start() end)
row("election_renew", led, function(h) return h:renew_start(LEASE) end)
row("election_check", led, function(h) return h:check_start() end)
row("election_proclaim", led, function(h) return h:proclaim_start("x") end)
row("election_break", function(s)
  return { s.client, s.name, led_elsewhere(s) }
end, function(h)
  return h[1]:break_election_start(h[2])
end)
row("election_leader", election, function(h) return h:leader_start() end)
row("observer_next", function(s)
  return election(s):observe()
end, function(h, ms)
  return h:next_start(ms)
end, nothing, function(s)
  kept[#kept + 1] = election(swapped(s))
  kept[#kept]:campaign(5000)
end)

-- ---- small states --------------------------------------------------------------

local function event(s)
  return assert(s.client:event(s.name))
end

local function set_elsewhere(s)
  return event(swapped(s)):set()
end

row("event_set", event, function(h) return h:set_start("x") end)
row("event_clear", event, function(h) return h:clear_start() end)
row("event_read", event, function(h) return h:read_start() end)
row("event_wait", event, function(h, ms)
  return h:wait_start(ms)
end, nothing, set_elsewhere)
row("event_wait_change", event, function(h, ms)
  return h:wait_change_start(0, ms)
end, nothing, set_elsewhere)

local function latch(s)
  return assert(s.client:latch(s.name, 1))
end

row("latch_count_down", latch, function(h) return h:count_down_start(1) end)
row("latch_count", latch, function(h) return h:count_start() end)
row("latch_reset", latch, function(h) return h:reset_start() end)
row("latch_wait", latch, function(h, ms)
  return h:wait_start(ms)
end, nothing, function(s)
  return latch(swapped(s)):count_down(1)
end)
row("latch_inspect", function(s)
  return { s.client, s.name }
end, function(h)
  return h[1]:inspect_latch_start(h[2])
end)

local function barrier(s)
  return assert(s.client:barrier(s.name, 2))
end

row("barrier_waiting", barrier, function(h) return h:waiting_start() end)
row("barrier_reset", barrier, function(h) return h:reset_start() end)
row("barrier_wait", barrier, function(h, ms)
  return h:wait_start(ms)
end, nothing, function(s)
  return barrier(swapped(s)):wait(1000)
end)
row("barrier_inspect", function(s)
  return { s.client, s.name }
end, function(h)
  return h[1]:inspect_barrier_start(h[2])
end)

-- ---- groups, registers, values -------------------------------------------------

local function group(s)
  return assert(s.client:group(s.name))
end

local function joined(s)
  return assert(group(s):join("me", "", { ttl_ms = LEASE }))
end

row("group_members", group, function(h) return h:members_start() end)
row("group_watch", function(s)
  local watch = group(s):watch()
  assert(watch:next(OTHER))
  return watch
end, function(h, ms)
  return h:next_start(ms)
end, nothing, function(s)
  kept[#kept + 1] = group(swapped(s)):join("you", "", { ttl_ms = LEASE })
end)
row("member_join", group, function(h)
  return h:join_start("me", "", { ttl_ms = LEASE })
end)
row("member_update", joined, function(h) return h:update_start("x") end)
row("member_leave", joined, function(h) return h:leave_start() end)

local function register(s)
  return assert(s.client:register(s.name))
end

row("register_get", register, function(h) return h:get_start() end)
row("register_set", register, function(h) return h:set_start("x") end)
row("register_cas", register, function(h) return h:cas_start(0, "x") end)
row("register_delete", register, function(h) return h:delete_start() end)
row("register_wait", register, function(h, ms)
  return h:wait_start(0, ms)
end, nothing, function(s)
  return register(swapped(s)):set("x")
end)

local function kv(s)
  return assert(s.client:kv(s.name))
end

row("kv_get", kv, function(h) return h:get_start("k") end)
row("kv_put", kv, function(h) return h:put_start("k", "x") end)
row("kv_delete", kv, function(h) return h:delete_start("k") end)
row("kv_move", client_of, function(h) return h:kv_move_start() end)

local function transaction(s)
  return assert(assert(s.client:store(s.name)):begin())
end

local function written(s)
  local txn = transaction(s)
  assert(txn:put("k", "x"))
  return txn
end

row("txn_get", transaction, function(h) return h:get_start("k") end)
row("txn_commit", written, function(h) return h:commit_start() end)
row("store_outcome", function(s)
  local txn = written(s)
  assert(txn:commit())
  return { assert(s.client:store(s.name)), txn.id }
end, function(h)
  return h[1]:outcome_start(h[2])
end)

local function guard(s)
  return s.client:guard(s.name)
end

row("guard_set", guard, function(h) return h:set_start("x", 1) end)
row("guard_get", guard, function(h) return h:get_start() end)
row("guard_remove", guard, function(h) return h:remove_start() end)

-- ---- queues --------------------------------------------------------------------

local function queue(s)
  return s.client:queue(s.name)
end

local function filled(s)
  local one = queue(s)
  assert(one:push("x"))
  return one
end

local function job(s)
  return assert(filled(s):reserve(OTHER, LEASE))
end

row("queue_push", queue, function(h) return h:push_start("x") end)
row("queue_push_many", queue, function(h) return h:push_many_start { "x", "y" } end)
row("queue_size", filled, function(h) return h:size_start() end)
row("queue_peek", filled, function(h) return h:peek_start() end)
row("queue_purge", filled, function(h) return h:purge_start() end)
row("queue_requeue", filled, function(h) return h:requeue_start() end)
row("queue_inspect", filled, function(h) return h:inspect_start() end)
row("job_ack", job, function(h) return h:ack_start() end)
row("job_nack", job, function(h) return h:nack_start() end)
row("job_bury", job, function(h) return h:bury_start("why") end)
row("job_extend", job, function(h) return h:extend_start(LEASE) end)
row("batch_ack", function(s)
  return assert(filled(s):reserve_many(2, OTHER, LEASE))
end, function(h)
  return h:ack_start()
end)
for verb, start in pairs {
  pop = function(h, ms) return h:pop_start(ms) end,
  reserve = function(h, ms) return h:reserve_start(ms, LEASE) end,
  reserve_many = function(h, ms) return h:reserve_many_start(2, ms, LEASE) end,
} do
  row("queue_" .. verb, queue, start, nothing, function(s)
    return queue(swapped(s)):push("x")
  end)
end

-- ---- signals, and all else -----------------------------------------------------

local function signal(s)
  return s.client:signal(s.name)
end

local function both(s)
  return { signal(s), s.client:signal(s.name .. ":2") }
end

local function signal_both(s)
  for _, one in ipairs(both(swapped(s))) do
    one:notify_all "x"
  end
end

row("signal_listen", signal, function(h) return h:listen_start() end)
row("signal_notify_one", signal, function(h) return h:notify_one_start("x") end)
row("signal_notify_all", signal, function(h) return h:notify_all_start("x") end)
row("signal_wait", signal, function(h, ms)
  return h:wait_start(ms)
end, nothing, signal_both)
row("signal_wait_any", both, function(h, ms)
  return interlock.wait_any_start(h, ms)
end, nothing, signal_both)
row("signal_wait_all", both, function(h, ms)
  return interlock.wait_all_start(h, ms)
end, nothing, signal_both)
row("signal_inspect", function(s)
  return { s.client, s.name }
end, function(h)
  return h[1]:inspect_signal_start(h[2])
end)
row("client_ping", client_of, function(h, ms) return h:ping_start(ms) end)
row("list_open_kinds", client_of, function(h) return h:ls_start("test*") end)

-- ---- the calls -----------------------------------------------------------------

local clients, notifications, cells, running = {}, {}, {}, {}

local function say(...)
  io.stdout:write(string.format(...), "\n")
  io.stdout:flush()
end

local function report(cell, answer, msg, code)
  local status = code and constants.status[code] or "ILK_OK"
  if not code and answer == nil then
    status = "ILK_ETIMEOUT"
  end
  cell.ended = true
  msg = code and msg:gsub('[%c"\\]', ".") or ""
  say('[%d, null, null, "%s", "%s"]', cell.number, status, msg)
end

local function begin(cell)
  local op, msg, code = cell.row.start(cell.handle, cell.limit)
  if op then
    cell.op = op
    running[op.id .. ":" .. cell.client] = cell
  else
    report(cell, nil, msg, code)
  end
end

local function fetch()
  for name, of in pairs(notifications) do
    for notification in of.next, of do
      local key = notification.id .. ":" .. name
      local cell = running[key]
      if cell and cell.op.done then
        running[key] = nil
        report(cell, cell.op:result())
      end
    end
  end
end

local function prepare(cell)
  cell.handle = assert(cell.row.make(cell.scene), cell.verb)
  if cell.when == "waiting" and cell.row.block then
    cell.blocked = cell.row.block(cell.scene)
  end
end

local function serve()
  for _, cell in ipairs(cells) do
    if cell.row.serve and cell.op and not cell.ended then
      cell.row.serve(cell.scene, cell.blocked)
      fetch()
    end
  end
end

local function add(line)
  local number, verb, when, client, limit, name =
    line:match "^cell (%d+) (%S+) (%S+) (%S+) (%S+) (%S+)$"
  limit = tonumber(limit)
  cells[#cells + 1] = {
    number = tonumber(number),
    verb = verb,
    when = when,
    client = client,
    limit = limit >= 0 and limit or nil,
    row = assert(rows[verb], verb),
    scene = { client = clients[client], other = clients.other, name = name },
  }
end

-- The waits are in their wait queues when the clients have sent nothing for a while.
local settling

local function sent()
  local sum = 0
  for _, client in pairs(clients) do
    sum = sum + client:stats().bytes_out
  end
  return sum
end

local function settle()
  local now = sent()
  settling.still = now == settling.sent and settling.still + 1 or 0
  settling.sent, settling.ticks = now, settling.ticks + 1
  if settling.still == 15 or settling.ticks == 150 then
    settling = nil
    say '["wait"]'
  end
end

local moments = { wait = "waiting", go = "during", after = "after" }
local is_serving = 0

local function obey(line)
  fetch()
  if line == "tick" then
    if settling then
      settle()
    end
    is_serving = is_serving > 0 and is_serving + 1 or 0
    if is_serving % 25 == 1 then
      serve()
    end
    return
  elseif line:match "^cell " then
    return add(line)
  end
  for _, cell in ipairs(cells) do
    if line == "prepare" then
      prepare(cell)
    elseif cell.when == moments[line] then
      begin(cell)
    end
  end
  if line == "serve" then
    is_serving = 1
  elseif line == "wait" then
    settling = { still = 0, ticks = 0 }
    return
  end
  say('["%s"]', line)
end

if not arg[2] then
  for verb in pairs(rows) do
    print(verb)
  end
  os.exit(0)
end
for number, name in ipairs { "plain", "given", "at_once", "other" } do
  local url = arg[1 + (name == "other" and 1 or number)]
  clients[name] = assert(interlock.connect(url, { lazy = true }))
  if name ~= "other" then
    notifications[name] = assert(clients[name]:notifications())
  end
end
for line in io.lines() do
  if line == "end" then
    break
  end
  obey(line)
end
os.exit(0, false)
