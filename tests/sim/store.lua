-- SPDX-License-Identifier: MIT
-- store.lua -- a server's data and commands, as far as our scripts use them.
-- The simulation provides clock_us() and publish(channel, message).
local data, ends = {}, {}
local commands = {}

function forget_all()
  data, ends = {}, {}
end

local function now_ms()
  return math.floor(clock_us() / 1000)
end

local function get(key)
  if ends[key] and ends[key] <= now_ms() then
    data[key], ends[key] = nil, nil
  end
  return data[key]
end

local function del(key)
  local found = get(key)
  data[key], ends[key] = nil, nil
  return found and 1 or 0
end

local function text(number)
  return string.format("%.17g", number)
end

-- ---- strings, hashes, keys

function commands.TIME()
  local now = clock_us()
  return { text(math.floor(now / 1000000)), text(now % 1000000) }
end

function commands.GET(key)
  return get(key) or false
end

function commands.SET(key, value, ...)
  local options, at, px = { ... }, 1, nil
  while options[at] do
    if options[at] == "NX" then
      if get(key) then
        return false
      end
    elseif options[at] == "PX" then
      at = at + 1
      px = tonumber(options[at])
      assert(px > 0, "ERR invalid expire time in 'set' command")
    else
      error("ERR syntax error: " .. options[at])
    end
    at = at + 1
  end
  data[key], ends[key] = value, px and now_ms() + px
  return { ok = "OK" }
end

function commands.DEL(...)
  local count = 0
  for _, key in ipairs({ ... }) do
    count = count + del(key)
  end
  return count
end

function commands.EXISTS(key)
  return get(key) and 1 or 0
end

function commands.PTTL(key)
  return not get(key) and -2 or ends[key] and ends[key] - now_ms() or -1
end

function commands.PEXPIRE(key, ms)
  if not get(key) then
    return 0
  end
  ends[key] = now_ms() + tonumber(ms)
  return 1
end

function commands.HMGET(key, ...)
  local hash, found = get(key) or {}, {}
  for i, field in ipairs({ ... }) do
    found[i] = hash[field] or false
  end
  return found
end

function commands.HSET(key, ...)
  local hash, pairs_in = get(key) or {}, { ... }
  for i = 1, #pairs_in, 2 do
    hash[pairs_in[i]] = pairs_in[i + 1]
  end
  data[key] = hash
  return #pairs_in / 2
end

-- ---- sorted sets: arrays of {score, member} in order

local function place(set, member)
  for i, pair in ipairs(set) do
    if pair[2] == member then
      return i
    end
  end
end

local function before(a, b)
  return a[1] < b[1] or a[1] == b[1] and a[2] < b[2]
end

function commands.ZADD(key, ...)
  local arguments, set = { ... }, get(key) or {}
  local only_new = arguments[1] == "NX" and table.remove(arguments, 1)
  local score, member = tonumber(arguments[1]), arguments[2]
  local at = place(set, member)
  assert(score and member and #arguments == 2, "ERR syntax error")
  if at and only_new then
    return 0
  end
  if at then
    table.remove(set, at)
  end
  set[#set + 1] = { score, member }
  table.sort(set, before)
  data[key] = set
  return at and 0 or 1
end

local function keep_if_any(key, set)
  if #set == 0 then
    del(key)
  end
end

function commands.ZREM(key, member)
  local set = get(key) or {}
  local at = place(set, member)
  if at then
    table.remove(set, at)
    keep_if_any(key, set)
  end
  return at and 1 or 0
end

function commands.ZCARD(key)
  return #(get(key) or {})
end

function commands.ZSCORE(key, member)
  local set = get(key) or {}
  local at = place(set, member)
  return at and text(set[at][1]) or false
end

local function slice(set, first, last, scores)
  local found = {}
  for i = tonumber(first) + 1, math.min(#set, tonumber(last) + 1) do
    found[#found + 1] = set[i][2]
    if scores then
      found[#found + 1] = text(set[i][1])
    end
  end
  return found
end

function commands.ZRANGE(key, first, last)
  return slice(get(key) or {}, first, last)
end

function commands.ZREVRANGE(key, first, last, scores)
  local set, turned = get(key) or {}, {}
  for i = #set, 1, -1 do
    turned[#turned + 1] = set[i]
  end
  return slice(turned, first, last, scores)
end

function commands.ZREMRANGEBYSCORE(key, least, most)
  local set, gone = get(key) or {}, 0
  local excluded = string.sub(most, 1, 1) == "("
  local limit = tonumber(excluded and string.sub(most, 2) or most)
  assert(least == "-inf", "only ranges from -inf are known")
  while set[1] and (set[1][1] < limit or not excluded and set[1][1] == limit) do
    table.remove(set, 1)
    gone = gone + 1
  end
  keep_if_any(key, set)
  return gone
end

function commands.PUBLISH(channel, message)
  return publish(channel, message)
end

-- ---- what scripts see

redis = {}

function redis.call(name, ...)
  local arguments = { ... }
  for i, argument in ipairs(arguments) do
    arguments[i] = type(argument) == "number" and text(argument) or argument
  end
  return (commands[name] or error("ERR unknown command " .. name))(unpack(arguments))
end

function redis.pcall(...)
  local fine, reply = pcall(redis.call, ...)
  if fine then
    return reply
  end
  return { err = tostring(reply) }
end

function redis.error_reply(message)
  return { err = message }
end

-- ---- what the simulation asks

function value_of(key)
  return get(key) or nil
end

function members_of(key)
  return slice(get(key) or {}, 0, 1000000)
end
