-- SPDX-License-Identifier: MIT
-- Walking a wait queue: which clients are alive, which can be reached, which
-- waiter is served.
-- `walk` is the caller's table: lock, wait and live (keys), now (us), ms (the
-- same in ms), liveness, life (what was found of each client, {}), tries and
-- denied (0).
--@include entry
--@include reached

-- The fate of an entry: PASS and STOP leave it in the wait queue, DROP and SERVED
-- remove it. STOP and SERVED end the walk.
local PASS, DROP, STOP, SERVED = 0, 1, 2, 3

-- A deadline far ahead was written before the server's clock was set back: such
-- an entry is passed over until its client refreshes.
local function life(walk, client)
  if not walk.life[client] then
    local deadline = tonumber(redis.call("ZSCORE", walk.live, client) or -1)
    walk.life[client] = deadline < walk.ms and "dead" or
      deadline > walk.ms + walk.liveness * 10 and "unsure" or "alive"
  end
  return walk.life[client]
end

-- Returns the number of receivers; nil when the message was refused. If a
-- client's inbox has no subscriber, its other entries are not tried.
local function publish(walk, client, message)
  walk.tries = walk.tries + 1
  local receivers = redis.pcall("PUBLISH", "ilk:inbox:" .. client, message)
  if type(receivers) ~= "number" then
    walk.denied = 1
    return nil
  end
  if receivers < REACHED_LEAST then
    receivers = REACHED_LEAST
  end
  if receivers == 0 then
    walk.life[client] = "unreachable"
  end
  return receivers
end

-- The fate of an entry that is not of this version. All versions begin with
-- version, kind and client. A text that begins otherwise is of no version, and
-- the entry of a dead client waits for nobody: both leave the wait queue.
local function judge_foreign(walk, text)
  local client = string.match(text, "^%d+ %S+ (%S+) ")
  return client and life(walk, client) ~= "dead" and PASS or DROP
end

local function serve(walk, entries, visit)
  local fate = PASS
  for _, text in ipairs(entries) do
    local e = parse_entry(text)
    fate = e and visit(walk, e) or not e and judge_foreign(walk, text) or PASS
    if not e and fate == DROP then
      walk.foreign = walk.foreign + 1
    end
    if fate == DROP or fate == SERVED then
      redis.call("ZREM", walk.wait, text)
      walk.gone = walk.gone + 1
    else
      walk.kept = walk.kept + 1
    end
    if fate >= STOP then
      break
    end
  end
  return fate
end

-- The first fetch is small: mostly the first entry is served.
local FEW = 2

-- Visits `limit` entries; up to 16 times as many while it only passes over
-- entries of clients that it has tried, or removes foreign ones, so that those
-- block nobody. Returns the
-- last fate, and more: 1 when entries were removed, none ended the walk and
-- there are others behind the limit.
local function walk_wait_queue(walk, limit, visit)
  local looked, fetched = 0, math.min(FEW, limit)
  local full, fate
  walk.gone, walk.kept, walk.foreign = 0, 0, 0
  repeat
    local entries = redis.call("ZRANGE", walk.wait, walk.kept, walk.kept + fetched - 1)
    fate = serve(walk, entries, visit)
    full, looked = #entries == fetched, looked + #entries
    fetched = looked < limit and limit - looked or limit
  until fate >= STOP or not full or looked >= limit and
    (walk.gone > walk.foreign or walk.tries >= limit or walk.kept + walk.foreign >= limit * 16)
  local more = fate < STOP and walk.gone > 0 and full and
    redis.call("ZCARD", walk.wait) > walk.kept
  return fate, more and 1 or 0
end
