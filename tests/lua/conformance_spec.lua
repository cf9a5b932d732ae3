-- SPDX-License-Identifier: MIT
-- Lua runs the table in tests/conformance that every language runs.

local interlock = require "interlock"
local support = require "support"
local table_of = require "conformance"

local group_words = require "conformance_group"
local queue_words = require "conformance_queue"
local ring_words = require "conformance_ring"
local signal_words = require "conformance_signal"
local state_words = require "conformance_state"

local status = interlock.status
local unpack = table.unpack or unpack

-- The result of a Lua method, as a status name. A wrong argument is raised.
local function answered(ran, ok, _, code)
  if not ran then
    return "ILK_EINVAL"
  end
  return ok and "ILK_OK" or status[code]
end

local function boolean(word)
  return word ~= "0"
end

-- From the table's options to Lua's; each answers key and value.
local readers = {
  ttl_ms = function(word) return "ttl_ms", tonumber(word) end,
  max_hold_ms = function(word) return "max_hold_ms", tonumber(word) end,
  renew = function(word) return "renew", boolean(word) end,
  barge = function(word) return "fair", not boolean(word) end,
  reentrant = function(word) return "reentrant", boolean(word) end,
  layout = function(word) return "layout", word end,
  limit = function(word) return "limit", tonumber(word) end,
  value = function(word) return "value", word end,
  identity = function(word) return "identity", word end,
  permits = function(word) return "permits", tonumber(word) end,
}

local openers = {
  lock = function(client, names, opts)
    return client:lock(names[1], opts)
  end,
  read = function(client, names, opts)
    local rw, msg, code = client:rwlock(names[1], opts)
    return rw and rw.read, msg, code
  end,
  write = function(client, names, opts)
    local rw, msg, code = client:rwlock(names[1], opts)
    return rw and rw.write, msg, code
  end,
  many = function(client, names, opts)
    return client:lock_many(names, opts)
  end,
  election = function(client, names, opts)
    return client:election(names[1], opts)
  end,
  semaphore = function(client, names, opts)
    local limit = opts.limit
    opts.limit = nil
    return client:semaphore(names[1], limit, opts)
  end,
}

-- The status that a line expects: the word behind "->", else ILK_OK.
local function wanted(words)
  if words[#words - 1] == "->" then
    return words[#words]
  end
  return "ILK_OK"
end

-- For ever and the default are nil in Lua, -1 and 0 in the table.
local function timeout(word)
  return word ~= "-1" and tonumber(word) or nil
end

local verbs = {}

function verbs.acquire(lock, words)
  return pcall(lock.acquire, lock, timeout(words[3]))
end

function verbs.release(lock)
  return pcall(lock.release, lock)
end

function verbs.extend(lock, words)
  local ms = tonumber(words[3])
  return pcall(lock.extend, lock, ms ~= 0 and ms or nil)
end

function verbs.check(lock)
  return pcall(lock.check, lock)
end

function verbs.detach(lock)
  return pcall(lock.detach, lock)
end

function verbs.adopt(lock, words, handles)
  local token = words[3]
  if token:sub(1, 1) == "@" then
    token = handles[token:sub(2)].token
  end
  return pcall(lock.adopt, lock, token)
end

function verbs.limit(semaphore, words)
  return pcall(semaphore.set_limit, semaphore, tonumber(words[3]))
end

function verbs.proclaim(election, words)
  return pcall(election.proclaim, election, words[3])
end

local queries = {}

function queries.held(lock, words)
  assert.equal(words[4], lock.held and "1" or "0")
end

function queries.fence(lock, words, handles)
  assert.equal(">", words[3])
  assert.is_true(lock.fence > handles[words[4]].fence)
end

function queries.remaining(lock, words)
  assert.equal("between", words[3])
  local left = lock:remaining_ms()
  assert.is_true(left >= tonumber(words[4]), "left " .. left)
  assert.is_true(left <= tonumber(words[5]), "left " .. left)
end

function queries.leader(election, words)
  assert.equal("is", words[3])
  assert.equal(words[4], election:leader() or "nobody")
end

function queries.term(election, words, handles)
  assert.equal("=", words[3])
  assert.equal(handles[words[4]].term, election.term)
end

queries["next"] = function(election, words, handles)
  local observer = handles[election] or assert(election:observe())
  handles[election] = observer
  local value, _, code = observer:next(timeout(words[3]))
  if words[4] == "->" then
    assert.equal(words[5], status[code])
  else
    assert.equal(words[5], value)
  end
end

local server, client

local function open(words, handles)
  if words[3] == "queue" or words[3] == "queues" then
    handles[words[1]] = assert(queue_words.open(client, words))
    return
  end
  if state_words.kinds[words[3]] then
    local made = { pcall(state_words.open, client, words, handles) }
    assert.equal(wanted(words), answered(made[1], made[2], made[3], made[4]))
    handles[words[1]] = made[1] and made[2] or nil
    return
  end
  local names, opts = {}, {}
  for i = 4, #words do
    if words[i] == "->" then
      break
    end
    local option, value = words[i]:match("^([%a_]+)=(.*)$")
    if readers[option] then
      local key, read = readers[option](value)
      opts[key] = read
    else
      names[#names + 1] = words[i]
    end
  end
  local made = { pcall(openers[words[3]], client, names, opts) }
  assert.equal(wanted(words), answered(made[1], made[2], made[3], made[4]))
  handles[words[1]] = made[1] and made[2] or nil
end

local statements = {}

-- The state of a name, and the words by which the table counts it.
local function look(words)
  if words[3] == "->" then
    local info = assert(client:inspect(words[2]))
    return info.state, { waiters = info.waiting }, 4
  end
  assert.equal("semaphore", words[2])
  local info = assert(client:inspect_semaphore(words[3]))
  return info.used > 0 and "held" or "free", {
    waiters = info.waiting, used = info.used, limit = info.limit,
    holders = info.holding,
  }, 5
end

function statements.inspect(words)
  local state, counts, at = look(words)
  assert.equal(words[at], state)
  for i = at + 1, #words do
    local key, value = words[i]:match("^(%a+)=(%d+)$")
    assert.equal(tonumber(value), counts[key])
  end
end

statements["break"] = function(words)
  local of_election = words[2] == "election"
  local verb = of_election and client.break_election or client.break_lock
  local answer = answered(pcall(verb, client, words[of_election and 3 or 2]))
  assert.equal(wanted(words), answer)
end

function statements.sleep(words)
  support.sleep_ms(tonumber(words[2]))
end

function statements.redis(words)
  local command, answer = {}, nil
  for i = 2, #words do
    if words[i] == "->" then
      answer = words[i + 1]
      break
    end
    command[#command + 1] = words[i]
  end
  local got = server:command(unpack(command))
  if answer then
    assert.equal(answer, got)
  else
    assert.is_falsy(got:find("^%(error%)"), got)
  end
end

local function run(words, names, handles)
  local lock = handles[words[1]]
  if words[2] == "=" and words[3] == "name" then
    names[words[1]] = names.unique .. words[4]
  elseif signal_words.line(client, words, handles)
    or group_words.line(client, words, handles)
    or ring_words.line(words, handles) then
    return
  elseif words[2] == "=" then
    open(words, handles)
  elseif lock and (lock.push or lock.nack) then
    local verb = queue_words.verbs[words[2]] or queue_words.queries[words[2]]
    local ok, msg, code = verb(lock, words, handles)
    if code or queue_words.verbs[words[2]] then
      assert.equal(wanted(words), answered(true, ok, msg, code))
    end
  elseif lock and state_words.looks(lock, words, handles) then
    return
  elseif lock and state_words.verbs[words[2]] then
    local answer = answered(pcall(state_words.verbs[words[2]], lock, words))
    assert.equal(wanted(words), answer)
  elseif lock and verbs[words[2]] then
    local answer = answered(verbs[words[2]](lock, words, handles))
    assert.equal(wanted(words), answer)
  elseif lock and queries[words[2]] then
    queries[words[2]](lock, words, handles)
  elseif statements[words[1]] then
    statements[words[1]](words)
  else
    error("no such statement")
  end
end

describe("the conformance table", function()
  server, client = support.served()

  for _, case in ipairs(table_of.cases()) do
    it(case.title, function()
      local names, handles = { unique = support.name() .. "." }, {}
      assert.is_true(#case.lines > 0)
      for _, line in ipairs(case.lines) do
        local ran, problem = pcall(function()
          run(table_of.split(line.text, names), names, handles)
        end)
        if not ran then
          local said = type(problem) == "table" and problem.message or problem
          error(("%s:%d: %s\n%s"):format(case.file, line.number, line.text,
            tostring(said)), 0)
        end
      end
    end)
  end
end)
