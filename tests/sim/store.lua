-- SPDX-License-Identifier: MIT
-- store.lua -- a server's data and commands in memory: what our scripts call and
-- what tests send themselves, in Lua 5.1 or LuaJIT.
--
-- The embedding program provides
--     clock_us()                  the server's time: microseconds since 1970
--     publish(channel, message)   returns the number of receivers
--     subscribers(channel)        returns their number, for PUBSUB NUMSUB
--     channels()                  returns those with subscribers, for PUBSUB CHANNELS
-- and calls the functions at the end of this file.
--
-- A key's value is one of
--     { kind = "string", text = TEXT }
--     { kind = "hash", value = { [FIELD] = TEXT }, FIELD, ... }   in order of arrival
--     { kind = "list", first = I, last = J, [I] = TEXT, ... [J] = TEXT }
--     { kind = "zset", score = { [MEMBER] = NUMBER }, MEMBER, ... }   in order
-- with `ends`, in milliseconds since 1970, when it expires.
--
-- Integers are doubles here. A counter above 2^53 is refused, where Redis counts
-- to 2^63. A command has at most 8000 arguments, as many as Lua passes to a function.
local WRONGTYPE = "WRONGTYPE Operation against a key holding the wrong kind of value"
local NOT_AN_INTEGER = "ERR value is not an integer or out of range"
local NOT_POSITIVE = "ERR value is out of range, must be positive"
local NOT_A_FLOAT = "ERR value is not a valid float"
local SYNTAX = "ERR syntax error"
local OK = { ok = "OK" }

local data = {}
local commands = {}

-- ---- errors, numbers, arguments

local function fail(message)
  error({ err = message }, 0)
end

local function text_of(number)
  return string.format("%.17g", number)
end

local function integer(text, message)
  local number = (text == "0" or string.find(text, "^%-?[1-9]%d*$")) and tonumber(text)
  if not number or number >= 2 ^ 63 or number < -2 ^ 63 then
    fail(message or NOT_AN_INTEGER)
  end
  return number
end

local INFINITE = { inf = math.huge, infinity = math.huge }

local function float(text, message)
  local sign, digits = string.match(string.lower(text), "^([+-]?)(.*)$")
  local number = INFINITE[digits] or string.find(digits, "^[%d.][%de.+-]*$") and tonumber(digits)
  if not number then
    fail(message or NOT_A_FLOAT)
  end
  return sign == "-" and -number or number
end

local function sum(number, more)
  local result = number + more
  if math.abs(result) >= 2 ^ 63 then
    fail("ERR increment or decrement would overflow")
  elseif math.abs(result) > 2 ^ 53 then
    fail("ERR store.lua counts to 2^53")
  end
  return result
end

-- The first and the last of the indexes first..last, which begin at 0 and count
-- from the end when they are negative, as indexes that begin at 1.
local function bounds(first, last, size)
  first = first < 0 and math.max(size + first, 0) or first
  last = last < 0 and size + last or last
  return first + 1, math.min(last + 1, size)
end

-- arity: the number of arguments with the command's name; -n is n or more.
local function define(name, arity, run)
  commands[name] = { arity = arity, run = run }
end

-- ---- keys

local function now_ms()
  return math.floor(clock_us() / 1000)
end

local function find(key, kind)
  local value = data[key]
  if value and value.ends and value.ends <= now_ms() then
    data[key], value = nil, nil
  end
  if value and kind and value.kind ~= kind then
    fail(WRONGTYPE)
  end
  return value
end

local function remove(key)
  local found = find(key)
  data[key] = nil
  return found and 1 or 0
end

local function count_each(count_one)
  return function(...)
    local count = 0
    for _, key in ipairs({ ... }) do
      count = count + count_one(key)
    end
    return count
  end
end

define("DEL", -2, count_each(remove))
define("UNLINK", -2, count_each(remove))
define(
  "EXISTS",
  -2,
  count_each(function(key)
    return find(key) and 1 or 0
  end)
)

-- A glob as a Lua pattern. Sets in brackets do not occur.
local function pattern_of(glob)
  local pattern, at = "^", 1
  while at <= #glob do
    local char = string.sub(glob, at, at)
    if char == "*" then
      pattern = pattern .. ".*"
    elseif char == "?" then
      pattern = pattern .. "."
    elseif char == "[" then
      fail("ERR store.lua matches no sets of characters")
    else
      if char == "\\" and at < #glob then
        at = at + 1
        char = string.sub(glob, at, at)
      end
      pattern = pattern .. (char == "\0" and "%z" or string.gsub(char, "%p", "%%%0"))
    end
    at = at + 1
  end
  return pattern .. "$"
end

define("KEYS", 2, function(glob)
  local pattern, found = pattern_of(glob), {}
  for key in pairs(data) do
    found[#found + 1] = find(key) and string.find(key, pattern) and key or nil
  end
  table.sort(found)
  return found
end)

-- As our lists send it: SCAN cursor MATCH glob COUNT n. One step finds all.
define("SCAN", 6, function(_, _, glob)
  return { "0", commands.KEYS.run(glob) }
end)

define("TYPE", 2, function(key)
  local value = find(key)
  return { ok = value and value.kind or "none" }
end)

define("PTTL", 2, function(key)
  local value = find(key)
  return not value and -2 or value.ends and value.ends - now_ms() or -1
end)

define("PEXPIRE", 3, function(key, ms)
  local ends = integer(ms) + now_ms()
  if ends >= 2 ^ 63 then
    fail("ERR invalid expire time in 'pexpire' command")
  end
  local value = find(key)
  if value then
    value.ends = ends
  end
  return value and 1 or 0
end)

define("PERSIST", 2, function(key)
  local value = find(key)
  local had = value and value.ends
  if had then
    value.ends = nil
  end
  return had and 1 or 0
end)

define("FLUSHALL", -1, function()
  data = {}
  return OK
end)

define("TIME", 1, function()
  local now = clock_us()
  return { text_of(math.floor(now / 1000000)), text_of(now % 1000000) }
end)

-- ---- strings

local function string_at(key)
  local value = find(key, "string")
  return value and value.text
end

define("GET", 2, function(key)
  return string_at(key) or false
end)

define("STRLEN", 2, function(key)
  return #(string_at(key) or "")
end)

define("GETRANGE", 4, function(key, first, last)
  first, last = integer(first), integer(last)
  local text = string_at(key) or ""
  if first < 0 and last < 0 and first > last then
    return ""
  end
  last = last < 0 and math.max(last, -#text) or last
  return string.sub(text, bounds(first, last, #text))
end)

-- The time at which a value expires, by SET's option and its argument.
local EXPIRY = {
  EX = function(number)
    return number * 1000 + now_ms()
  end,
  PX = function(number)
    return number + now_ms()
  end,
  EXAT = function(number)
    return number * 1000
  end,
  PXAT = function(number)
    return number
  end,
}

-- The options of SET by name; `ends` is a function without arguments.
local function set_options(arguments)
  local options, at = {}, 1
  while arguments[at] do
    local name = string.upper(arguments[at])
    if EXPIRY[name] and arguments[at + 1] and not options.ends and not options.KEEPTTL then
      local number = arguments[at + 1]
      options.ends = function()
        local ms = EXPIRY[name](integer(number))
        if integer(number) <= 0 or ms >= 2 ^ 63 then
          fail("ERR invalid expire time in 'set' command")
        end
        return ms
      end
      at = at + 1
    elseif name == "NX" or name == "XX" or name == "GET" or name == "KEEPTTL" then
      options[name] = true
    else
      fail(SYNTAX)
    end
    at = at + 1
  end
  if options.NX and options.XX or options.ends and options.KEEPTTL then
    fail(SYNTAX)
  end
  return options
end

define("SET", -3, function(key, text, ...)
  local options = set_options({ ... })
  local ends = options.ends and options.ends()
  local old = find(key, options.GET and "string" or nil)
  local before = old and old.text or false
  if options.NX and old or options.XX and not old then
    return options.GET and before or false
  end
  if options.KEEPTTL then
    ends = old and old.ends
  end
  data[key] = { kind = "string", text = text, ends = ends or nil }
  if options.GET then
    return before
  end
  return OK
end)

define("MGET", -2, function(...)
  local found = {}
  for i, key in ipairs({ ... }) do
    local value = find(key)
    found[i] = value and value.text or false
  end
  return found
end)

local function increase(key, more)
  local value = find(key, "string") or { kind = "string", text = "0" }
  local result = sum(integer(value.text), more)
  value.text = text_of(result)
  data[key] = value
  return result
end

define("INCR", 2, function(key)
  return increase(key, 1)
end)

define("INCRBY", 3, function(key, more)
  return increase(key, integer(more))
end)

-- ---- hashes

local function hash_at(key)
  return find(key, "hash") or { kind = "hash", value = {} }
end

local function hash_set(hash, field, text)
  local is_new = not hash.value[field]
  if is_new then
    hash[#hash + 1] = field
  end
  hash.value[field] = text
  return is_new and 1 or 0
end

define("HGET", 3, function(key, field)
  return hash_at(key).value[field] or false
end)

define("HMGET", -3, function(key, ...)
  local value, found = hash_at(key).value, {}
  for i, field in ipairs({ ... }) do
    found[i] = value[field] or false
  end
  return found
end)

define("HEXISTS", 3, function(key, field)
  return hash_at(key).value[field] and 1 or 0
end)

define("HLEN", 2, function(key)
  return #hash_at(key)
end)

-- The contents of a hash: fields, texts or both.
local function list_hash(fields, texts)
  return function(key)
    local hash, found = hash_at(key), {}
    for _, field in ipairs(hash) do
      found[#found + 1] = fields and field or nil
      found[#found + 1] = texts and hash.value[field] or nil
    end
    return found
  end
end

define("HKEYS", 2, list_hash(true, false))
define("HVALS", 2, list_hash(false, true))
define("HGETALL", 2, list_hash(true, true))

define("HSET", -4, function(key, ...)
  local arguments, count = { ... }, 0
  if #arguments % 2 == 1 then
    fail("ERR wrong number of arguments for 'hset' command")
  end
  local hash = hash_at(key)
  for i = 1, #arguments, 2 do
    count = count + hash_set(hash, arguments[i], arguments[i + 1])
  end
  data[key] = hash
  return count
end)

define("HINCRBY", 4, function(key, field, more)
  more = integer(more)
  local hash = hash_at(key)
  local number = integer(hash.value[field] or "0", "ERR hash value is not an integer")
  local result = sum(number, more)
  hash_set(hash, field, text_of(result))
  data[key] = hash
  return result
end)

define("HDEL", -3, function(key, ...)
  local hash, gone, count = hash_at(key), {}, 0
  for _, field in ipairs({ ... }) do
    count = count + (hash.value[field] and 1 or 0)
    gone[field], hash.value[field] = true, nil
  end
  local kept = 0
  for i = 1, #hash do
    if not gone[hash[i]] then
      kept = kept + 1
      hash[kept] = hash[i]
    end
  end
  for i = #hash, kept + 1, -1 do
    hash[i] = nil
  end
  if #hash == 0 then
    remove(key)
  end
  return count
end)

-- ---- lists

local function list_at(key)
  return find(key, "list") or { kind = "list", first = 1, last = 0 }
end

local function length(list)
  return list.last - list.first + 1
end

local function list_push(list, left, text)
  if left then
    list.first = list.first - 1
  else
    list.last = list.last + 1
  end
  list[left and list.first or list.last] = text
end

local function list_pop(key, list, left)
  local at = left and list.first or list.last
  local text = list[at]
  list[at] = nil
  if left then
    list.first = at + 1
  else
    list.last = at - 1
  end
  if length(list) == 0 then
    remove(key)
  end
  return text
end

local function list_slice(list, first, last)
  local found, from, to = {}, bounds(first, last, length(list))
  for i = from, to do
    found[#found + 1] = list[list.first + i - 1]
  end
  return found
end

local function list_replace(key, list, texts)
  texts.kind, texts.first, texts.last, texts.ends = "list", 1, #texts, list.ends
  data[key] = #texts > 0 and texts or nil
end

local function push(left)
  return function(key, ...)
    local list = list_at(key)
    for _, text in ipairs({ ... }) do
      list_push(list, left, text)
    end
    data[key] = list
    return length(list)
  end
end

define("LPUSH", -3, push(true))
define("RPUSH", -3, push(false))

local function pop(name, left)
  return function(key, count, ...)
    if ... then
      fail("ERR wrong number of arguments for '" .. name .. "' command")
    end
    local number = count and integer(count, NOT_POSITIVE)
    if number and number < 0 then
      fail(NOT_POSITIVE)
    end
    local list, found = find(key, "list"), {}
    if not list then
      return false
    elseif not count then
      return list_pop(key, list, left)
    end
    for i = 1, math.min(number, length(list)) do
      found[i] = list_pop(key, list, left)
    end
    return found
  end
end

define("LPOP", -2, pop("lpop", true))
define("RPOP", -2, pop("rpop", false))

local function move(from, to, from_left, to_left)
  local list = find(from, "list")
  if not list then
    return false
  end
  local target = list_at(to)
  local text = list_pop(from, list, from_left)
  list_push(target, to_left, text)
  data[to] = target
  return text
end

local ENDS = { LEFT = "left", RIGHT = "right" }

define("LMOVE", 5, function(from, to, from_end, to_end)
  from_end, to_end = ENDS[string.upper(from_end)], ENDS[string.upper(to_end)]
  if not from_end or not to_end then
    fail(SYNTAX)
  end
  return move(from, to, from_end == "left", to_end == "left")
end)

define("RPOPLPUSH", 3, function(from, to)
  return move(from, to, false, true)
end)

define("LLEN", 2, function(key)
  return length(list_at(key))
end)

define("LINDEX", 3, function(key, index)
  local list = find(key, "list")
  if not list then
    return false
  end
  index = integer(index)
  return list[(index < 0 and list.last + 1 or list.first) + index] or false
end)

define("LRANGE", 4, function(key, first, last)
  first, last = integer(first), integer(last)
  return list_slice(list_at(key), first, last)
end)

define("LTRIM", 4, function(key, first, last)
  first, last = integer(first), integer(last)
  local list = list_at(key)
  list_replace(key, list, list_slice(list, first, last))
  return OK
end)

define("LREM", 4, function(key, count, text)
  count = integer(count)
  local list, places, gone = list_at(key), {}, {}
  for i = list.first, list.last do
    places[#places + 1] = list[i] == text and i or nil
  end
  local most = count == 0 and #places or math.min(math.abs(count), #places)
  for i = 1, most do
    gone[places[count < 0 and #places + 1 - i or i]] = true
  end
  local kept = {}
  for i = list.first, list.last do
    kept[#kept + 1] = not gone[i] and list[i] or nil
  end
  list_replace(key, list, kept)
  return most
end)

-- ---- sorted sets

local function set_at(key)
  return find(key, "zset") or { kind = "zset", score = {} }
end

-- The first index from which on `is_right` is true of the members.
local function search(set, is_right)
  local low, high = 1, #set + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if is_right(set[middle], set.score[set[middle]]) then
      high = middle
    else
      low = middle + 1
    end
  end
  return low
end

local function place(set, member, score)
  return search(set, function(other, others)
    return others > score or others == score and other >= member
  end)
end

local function set_add(set, member, score)
  local old = set.score[member]
  if old then
    table.remove(set, place(set, member, old))
  end
  table.insert(set, place(set, member, score), member)
  set.score[member] = score + 0 -- for -0, which Redis' small sets do not have, either
end

-- Remove the members from first to last, which are indexes; returns their number.
local function set_cut(key, set, first, last)
  local gone = math.max(last - first + 1, 0)
  for i = first, last do
    set.score[set[i]] = nil
  end
  for i = first, gone > 0 and #set or 0 do
    set[i] = set[i + gone]
  end
  if #set == 0 then
    remove(key)
  end
  return gone
end

-- A limit of scores and whether it is excluded. Redis takes nothing for 0.
local function score_limit(text)
  local open, number = string.match(text, "^(%(?)(.*)$")
  return number == "" and 0 or float(number, "ERR min or max is not a float"), open == "("
end

-- The function that returns the indexes of the scores between two limits.
local function between(least, most)
  local low, low_open = score_limit(least)
  local high, high_open = score_limit(most)
  return function(set)
    local first = search(set, function(_, score)
      return score > low or score == low and not low_open
    end)
    local after = search(set, function(_, score)
      return score > high or score == high and high_open
    end)
    return first, after - 1
  end
end

-- Members from first to last, backwards when last is the lower one and step is -1.
local function set_slice(set, first, last, step, scores)
  local found = {}
  for i = first, last, step do
    found[#found + 1] = set[i]
    found[#found + 1] = scores and text_of(set.score[set[i]]) or nil
  end
  return found
end

local ZADD_OPTIONS = { NX = true, XX = true, GT = true, LT = true, CH = true }

local function zadd_options(arguments)
  local given, at = {}, 1
  while arguments[at] and ZADD_OPTIONS[string.upper(arguments[at])] do
    given[string.upper(arguments[at])] = true
    at = at + 1
  end
  if (#arguments - at + 1) % 2 == 1 or not arguments[at] then
    fail(SYNTAX)
  elseif given.NX and (given.XX or given.GT or given.LT) or given.GT and given.LT then
    fail("ERR options at the same time are not compatible")
  end
  return given, at
end

define("ZADD", -4, function(key, ...)
  local arguments, scores = { ... }, {}
  local given, from = zadd_options(arguments)
  for i = from, #arguments, 2 do
    scores[i] = float(arguments[i])
  end
  local set, added, changed = set_at(key), 0, 0
  for i = from, #arguments, 2 do
    local member, score = arguments[i + 1], scores[i]
    local old = set.score[member]
    if not old and not given.XX then
      set_add(set, member, score)
      added = added + 1
    elseif old and old ~= score and not given.NX
      and not (given.GT and score < old) and not (given.LT and score > old) then
      set_add(set, member, score)
      changed = changed + 1
    end
  end
  data[key] = #set > 0 and set or nil
  return added + (given.CH and changed or 0)
end)

define("ZREM", -3, function(key, ...)
  local set, count = set_at(key), 0
  for _, member in ipairs({ ... }) do
    if set.score[member] then
      local at = place(set, member, set.score[member])
      count = count + set_cut(key, set, at, at)
    end
  end
  return count
end)

define("ZCARD", 2, function(key)
  return #set_at(key)
end)

define("ZSCORE", 3, function(key, member)
  local score = set_at(key).score[member]
  return score and text_of(score) or false
end)

define("ZCOUNT", 4, function(key, least, most)
  local within = between(least, most)
  local first, last = within(set_at(key))
  return math.max(last - first + 1, 0)
end)

local function by_rank(turned)
  return function(key, first, last, option, ...)
    first, last = integer(first), integer(last)
    local scores = option and string.upper(option) == "WITHSCORES"
    if option and not scores or ... then
      fail(SYNTAX)
    end
    local set = set_at(key)
    local from, to = bounds(first, last, #set)
    if turned then
      return set_slice(set, #set + 1 - from, #set + 1 - to, -1, scores)
    end
    return set_slice(set, from, to, 1, scores)
  end
end

define("ZRANGE", -4, by_rank(false))
define("ZREVRANGE", -4, by_rank(true))

define("ZRANGEBYSCORE", -4, function(key, least, most, ...)
  local options, at, scores, offset, count = { ... }, 1, false, 0, -1
  while options[at] do
    local name = string.upper(options[at])
    if name == "LIMIT" and options[at + 2] then
      offset, count = integer(options[at + 1]), integer(options[at + 2])
      at = at + 3
    elseif name == "WITHSCORES" then
      scores = true
      at = at + 1
    else
      fail(SYNTAX)
    end
  end
  local within = between(least, most)
  local set = set_at(key)
  local first, last = within(set)
  if offset < 0 then
    return {}
  end
  first = first + offset
  return set_slice(set, first, count < 0 and last or math.min(last, first + count - 1), 1, scores)
end)

define("ZREMRANGEBYRANK", 4, function(key, first, last)
  first, last = integer(first), integer(last)
  local set = set_at(key)
  return set_cut(key, set, bounds(first, last, #set))
end)

define("ZREMRANGEBYSCORE", 4, function(key, least, most)
  local within = between(least, most)
  local set = set_at(key)
  return set_cut(key, set, within(set))
end)

-- Infinities of both signs, or one times 0, make 0.
local function number_or_0(number)
  return number == number and number or 0
end

local AGGREGATE = {
  SUM = function(a, b)
    return number_or_0(a + b)
  end,
  MIN = function(a, b)
    return b < a and b or a
  end,
  MAX = function(a, b)
    return b > a and b or a
  end,
}

-- The options of ZINTERSTORE behind its keys: the weights and what adds scores.
local function inter_options(arguments, count)
  local weights, aggregate, at = {}, AGGREGATE.SUM, count + 1
  while arguments[at] do
    local name = string.upper(arguments[at])
    if name == "WEIGHTS" and arguments[at + count] then
      for i = 1, count do
        weights[i] = float(arguments[at + i], "ERR weight value is not a float")
      end
      at = at + count + 1
    elseif name == "AGGREGATE" and AGGREGATE[string.upper(arguments[at + 1] or "")] then
      aggregate = AGGREGATE[string.upper(arguments[at + 1])]
      at = at + 2
    else
      fail(SYNTAX)
    end
  end
  return weights, aggregate
end

define("ZINTERSTORE", -4, function(target, many, ...)
  local arguments, sets, result = { ... }, {}, { kind = "zset", score = {} }
  local count = integer(many)
  if count < 1 then
    fail("ERR at least 1 input key is needed for 'zinterstore' command")
  elseif count > #arguments then
    fail(SYNTAX)
  end
  for i = 1, count do
    sets[i] = set_at(arguments[i])
  end
  local weights, aggregate = inter_options(arguments, count)
  for _, member in ipairs(sets[1]) do
    local score
    for i = 1, count do
      local one = sets[i].score[member]
      one = one and one * (weights[i] or 1)
      score = one and (i == 1 and number_or_0(one) or score and aggregate(score, one))
    end
    if score then
      set_add(result, member, score)
    end
  end
  data[target] = #result > 0 and result or nil
  return #result
end)

-- ---- all kinds

local contents = {
  string = string_at,
  hash = list_hash(true, true),
  list = function(key)
    return list_slice(list_at(key), 0, -1)
  end,
  zset = function(key)
    local set = set_at(key)
    return set_slice(set, 1, #set, 1, true)
  end,
}

-- Texts that are equal when the values are, though not those of a server.
define("DUMP", 2, function(key)
  local value = find(key)
  return value and value.kind .. " " .. wire_of(contents[value.kind](key)) or false
end)

-- ---- channels

define("PUBLISH", 3, function(channel, message)
  return publish(channel, message)
end)

define("PUBSUB", -2, function(what, ...)
  local found = {}
  if string.upper(what) == "NUMSUB" then
    for _, channel in ipairs({ ... }) do
      found[#found + 1] = channel
      found[#found + 1] = subscribers(channel)
    end
  elseif string.upper(what) == "CHANNELS" then
    local pattern = pattern_of((...) or "*")
    for _, channel in ipairs(channels()) do
      found[#found + 1] = string.find(channel, pattern) and channel or nil
    end
  else
    fail("ERR unknown subcommand '" .. what .. "'")
  end
  return found
end)

-- ---- what scripts see

local protected = pcall
redis = {}

-- The error of a command is its message here, as in Redis.
local function with_message(fine, reply, ...)
  if not fine and type(reply) == "table" then
    return false, reply.err
  end
  return fine, reply, ...
end

function pcall(...)
  return with_message(protected(...))
end

function redis.call(name, ...)
  local arguments, count = { name, ... }, select("#", name, ...)
  for i = 1, count do
    if type(arguments[i]) == "number" then
      arguments[i] = text_of(arguments[i])
    elseif type(arguments[i]) ~= "string" then
      fail("ERR Lua redis lib command arguments must be strings or integers")
    end
  end
  local command = commands[string.upper(arguments[1])]
  if not command then
    fail("ERR unknown command '" .. arguments[1] .. "'")
  elseif command.arity > 0 and count ~= command.arity or count < -command.arity then
    fail("ERR wrong number of arguments for '" .. string.lower(arguments[1]) .. "' command")
  end
  return command.run(unpack(arguments, 2))
end

-- As in Redis, an error of the store itself passes through.
function redis.pcall(...)
  local fine, reply = protected(redis.call, ...)
  if not fine and type(reply) ~= "table" then
    error(reply, 0)
  end
  return reply
end

function redis.error_reply(message)
  return { err = message }
end

function redis.status_reply(message)
  return { ok = message }
end

function redis.replicate_commands()
  return true
end

-- ---- what the embedding program calls

function forget_all()
  data = {}
end

-- The reply to a command; an error is {err = message}.
run_command = redis.pcall

-- The reply of a script, which is a compiled chunk.
function run_script(script, keys, arguments)
  KEYS, ARGV = keys, arguments
  local fine, reply = protected(script)
  if fine or type(reply) == "table" then
    return reply
  end
  return { err = "ERR " .. tostring(reply) }
end

-- A reply as RESP2 has it on the wire.
function wire_of(reply)
  if type(reply) == "number" then
    return string.format(":%d\r\n", reply)
  elseif type(reply) == "string" then
    return "$" .. #reply .. "\r\n" .. reply .. "\r\n"
  elseif type(reply) ~= "table" then
    return reply and ":1\r\n" or "$-1\r\n"
  elseif reply.err or reply.ok then
    return (reply.err and "-" .. reply.err or "+" .. reply.ok):gsub("[\r\n]", " ") .. "\r\n"
  end
  local parts = {}
  for i, item in ipairs(reply) do
    parts[i] = wire_of(item)
  end
  return "*" .. #parts .. "\r\n" .. table.concat(parts)
end

function value_of(key)
  local value = find(key)
  return value and value.text
end

function members_of(key)
  return set_slice(set_at(key), 1, #set_at(key), 1)
end
