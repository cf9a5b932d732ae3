-- SPDX-License-Identifier: MIT
-- The conformance table's statements about queues; what they are is said in
-- tests/core/conformance/conf_queue.h.

local assert = require "luassert" -- a module has not that of a spec

local queue = { verbs = {}, queries = {} }

local function option(words, key)
  for i = 3, #words do
    local found = words[i]:match("^" .. key .. "=(.*)$")
    if found then
      return found
    end
  end
  return nil
end

function queue.open(client, words)
  local names = {}
  for i = 4, #words do
    if words[i] == "->" or words[i]:find("=", 1, true) then
      break
    end
    names[#names + 1] = words[i]
  end
  local opts = { order = option(words, "order"),
    max_attempts = tonumber(option(words, "max_attempts")) }
  if words[3] == "queues" then
    return client:queues(names, opts)
  end
  return client:queue(names[1], opts)
end

local verbs, queries = queue.verbs, queue.queries

function verbs.push(handle, words)
  return handle:push(words[3], { delay_ms = tonumber(option(words, "delay")),
    once = option(words, "once") })
end

function verbs.pop(handle, words)
  local data, msg, code = handle:pop(tonumber(words[3]))
  if data then
    assert.equal(words[4], data)
  end
  return data, msg, code
end

function verbs.reserve(handle, words, handles)
  local job, msg, code = handle:reserve(tonumber(words[4]), tonumber(words[5]))
  handles[words[3]] = job
  return job, msg, code
end

function verbs.ack(job)
  return job:ack()
end

function verbs.nack(job, words)
  return job:nack(tonumber(words[3]))
end

function verbs.bury(job, words)
  return job:bury(words[3])
end

function verbs.extend(job, words)
  return job:extend(tonumber(words[3]))
end

local function same(words, value)
  assert.equal(tonumber(words[#words]), value)
end

function queries.size(handle, words)
  local count, _, code = handle:size()
  if count then
    same(words, count)
  end
  return count, nil, code
end

function queries.count(handle, words)
  same(words, handle:inspect()[words[3]])
end

function queries.requeue(handle, words)
  same(words, handle:requeue())
end

function queries.purge(handle, words)
  same(words, handle:purge())
end

function queries.attempts(job, words)
  same(words, job.attempts)
end

function queries.data(job, words)
  assert.equal(words[4], job.data)
end

return queue
