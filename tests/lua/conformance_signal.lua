-- SPDX-License-Identifier: MIT
-- The conformance table's statements about signals; what they are is said in
-- tests/core/conformance/conf_signal.h.

local assert = require "luassert" -- a module has not that of a spec
local interlock = require "interlock"

local signal = { kinds = {}, verbs = {} }

function signal.kinds.signal(client, words)
  return client:signal(words[4])
end

function signal.kinds.pattern(client, words)
  return client:signal(words[4], { pattern = true })
end

local verbs = signal.verbs

function verbs.listen(one)
  return one:listen()
end

function verbs.cancel(one)
  return one:cancel()
end

function verbs.wait(one, words)
  return one:wait(tonumber(words[3]))
end

function verbs.one(one, words)
  return one:notify_one(words[3])
end

function verbs.all(one, words)
  return one:notify_all(words[3])
end

local several = { any = interlock.wait_any, both = interlock.wait_all }

local function await(words, handles)
  local given = {}
  for i = 3, #words - 2 do
    given[#given + 1] = handles[words[i]]
  end
  return several[words[1]](given, tonumber(words[2]))
end

local function status_of(ran, ok, _, code)
  if not ran then
    return "ILK_EINVAL"
  end
  return ok and "ILK_OK" or interlock.status[code]
end

--- Run a line; false when it is about something else.
function signal.line(client, words, handles)
  local open, verb = signal.kinds[words[3]], verbs[words[2]]
  local wanted = words[#words - 1] == "->" and words[#words] or "ILK_OK"
  local is_status = wanted:find("^ILK_") ~= nil
  local came
  if words[2] == "=" and open then
    came = { pcall(open, client, words) }
    handles[words[1]] = came[1] and came[2] or nil
  elseif several[words[1]] then
    came = { pcall(await, words, handles) }
  elseif tostring(handles[words[1]] or ""):find("^signal ") and verb then
    came = { pcall(verb, handles[words[1]], words) }
  else
    return false
  end
  if is_status then
    assert.equal(wanted, status_of(came[1], came[2], came[3], came[4]))
  else
    assert.equal(wanted, tostring(came[2]))
  end
  return true
end

return signal
