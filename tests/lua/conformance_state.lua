-- SPDX-License-Identifier: MIT
-- The conformance table's statements about events, barriers, latches, registers and stores;
-- tests/core/conformance/conf_state.h says what they are.

local assert = require "luassert" -- a module has not that of a spec

local state = { verbs = {} }

state.kinds = {
  event = function(client, name, option)
    local ms = (option or ""):match("^ttl_ms=(.*)$")
    return client:event(name, { ttl_ms = tonumber(ms) })
  end,
  barrier = function(client, name, number)
    return client:barrier(name, tonumber(number))
  end,
  latch = function(client, name, number)
    return client:latch(name, tonumber(number))
  end,
  register = function(client, name)
    return client:register(name)
  end,
  store = function(client, name)
    return client:store(name)
  end,
  begin = function(_, store)
    return store:begin()
  end,
  snapshot = function(_, store)
    return store:snapshot()
  end,
}

function state.open(client, words, handles)
  return state.kinds[words[3]](client, handles[words[4]] or words[4], words[5])
end

-- For ever is nil in Lua, -1 in the table.
local function timeout(word)
  return word ~= "-1" and tonumber(word) or nil
end

local verbs = state.verbs

function verbs.set(event, words)
  return event:set(words[3])
end

function verbs.clear(event)
  return event:clear()
end

function verbs.read(event)
  return event:read()
end

function verbs.wait(thing, words)
  if thing.version then
    return thing:wait(thing.version, timeout(words[3]))
  end
  return thing:wait(timeout(words[3]))
end

-- The value that a transaction has read last.
local found = setmetatable({}, { __mode = "k" })

function verbs.get(thing, words)
  if not thing.commit then
    return thing:get()
  end
  local value, msg, code = thing:get(words[3])
  found[thing] = value
  if code then
    return nil, msg, code
  end
  return true
end

function verbs.put(transaction, words)
  return transaction:put(words[3], words[4])
end

function verbs.commit(transaction)
  return transaction:commit()
end

function verbs.cas(register, words)
  return register:cas(register.version, words[3])
end

function verbs.delete(register, words)
  if register.commit then
    return register:delete(words[3])
  end
  return register:delete(words[3] == "seen" and register.version or nil)
end

function verbs.change(event, words)
  return event:wait_change(event.generation, timeout(words[3]))
end

function verbs.count_down(latch, words)
  return latch:count_down(tonumber(words[3]))
end

function verbs.reset(thing)
  return thing:reset()
end

function verbs.waiting(barrier)
  return barrier:waiting()
end

function verbs.count(latch)
  return latch:count()
end

--- Lines that look and do nothing; true when it was one.
function state.looks(thing, words, handles)
  local what, answer = words[2], words[#words]
  if what == "is_set" then
    assert.equal(answer, thing.is_set and "1" or "0")
  elseif what == "data" then
    assert.equal(answer, thing.data)
  elseif what == "outcome" then
    assert.equal(answer, assert(thing:outcome(handles[words[3]].id)))
  elseif what == "value" and thing.commit then
    assert.equal(answer, found[thing] or "(nil)")
  elseif what == "value" then
    assert.equal(answer, thing.value or "(nil)")
  elseif what == "version" then
    local known = handles[words[4]].version
    if words[3] == ">" then
      assert.is_true(thing.version > known)
    else
      assert.equal(known, thing.version)
    end
  elseif what == "generation" then
    assert.is_true(thing.generation > handles[words[4]].generation)
  elseif (what == "waiting" or what == "count") and tonumber(answer) then
    assert.equal(tonumber(answer), assert(thing[what](thing)))
  else
    return false
  end
  return true
end

return state
