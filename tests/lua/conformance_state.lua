-- SPDX-License-Identifier: MIT
-- The conformance table's statements about events, barriers, latches, registers, stores and
-- replicated values; tests/core/conformance/conf_state.h says what they are.

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
  kv = function(client, name)
    return client:kv(name)
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

-- The value that a transaction or a kv has read last, and the last version of a kv.
local found = setmetatable({}, { __mode = "k" })
local versions = setmetatable({}, { __mode = "k" })

-- A kv's change has a version; other changes have none.
local function changed(thing, version, msg, code)
  if version and not thing.commit then
    versions[thing] = version
  end
  return version, msg, code
end

function verbs.get(thing, words)
  if not thing.put then
    return thing:get()
  end
  local value, version, code = thing:get(words[3])
  found[thing] = value
  if code then
    return nil, version, code
  end
  versions[thing] = version or versions[thing]
  return true
end

function verbs.put(thing, words)
  return changed(thing, thing:put(words[3], words[4]))
end

function verbs.fast(kv, words)
  return changed(kv, kv:put(words[3], words[4], { fast = true }))
end

function verbs.commit(transaction)
  return transaction:commit()
end

function verbs.cas(register, words)
  return register:cas(register.version, words[3])
end

function verbs.delete(thing, words)
  if thing.put then
    return changed(thing, thing:delete(words[3]))
  end
  return thing:delete(words[3] == "seen" and thing.version or nil)
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
  elseif what == "value" and thing.put then
    assert.equal(answer, found[thing] or "(nil)")
  elseif what == "value" then
    assert.equal(answer, thing.value or "(nil)")
  elseif what == "version" then
    local other = handles[words[4]]
    local known, version = versions[other] or other.version, versions[thing] or thing.version
    if words[3] == ">" then
      assert.is_true(version > known)
    else
      assert.equal(known, version)
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
