-- SPDX-License-Identifier: MIT
-- Hand a free lock to the first who waits and can be reached.
--
-- Each entry, in the order of its ticket, is left alone (unknown version, or
-- nobody listens: passed over), removed (its client is dead) or served.
--@include now
--@include reply
--@include entry
--@include offer

-- A deadline far ahead is from a clock that was set back since: such an
-- entry is passed over until its client says again that it lives.
local function life(walk, client)
  if not walk.life[client] then
    local deadline = tonumber(redis.call("ZSCORE", walk.live, client) or -1)
    walk.life[client] = deadline < walk.ms and "dead" or
      deadline > walk.ms + walk.liveness * 10 and "unsure" or "alive"
  end
  return walk.life[client]
end

local function visit(walk, e)
  local state = life(walk, e.client)
  if state ~= "alive" and e.token ~= walk.own then
    return state == "dead" and DROP or PASS
  end
  if e.kind == "r" and walk.mode ~= "barge" then
    return serve_reader(walk, e)
  end
  if walk.reading then
    return STOP
  end
  if walk.mode == "barge" or e.kind == "w" and e.token ~= walk.own then
    return wake(walk, e)
  end
  return serve_exclusive(walk, e)
end

-- Make the keys say who holds now. Without new readers, those who were in
-- before stay as they were.
local function settle(walk)
  local latest = walk.undo and walk.reading and latest_reader(walk.readers, walk.now)
  if walk.who then
    local left = keep_marker(walk.lock, walk.readers, walk.now, latest)
    write_record(walk.record, walk.fence, READERS, walk.now, walk.who, left)
  elseif latest then
    pcall(keep_marker, walk.lock, walk.readers, walk.now, latest)
  elseif walk.undo then
    redis.pcall("DEL", walk.lock)
    redis.pcall("HSET", walk.record, "token", "")
  end
end

local function serve(walk, entries)
  local fate = PASS
  for _, text in ipairs(entries) do
    local e = parse_entry(text)
    fate = e and visit(walk, e) or PASS
    if fate % 2 == 1 then
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

-- at: index of the name's first key. mode: nil, "barge" (wake the first
-- instead of granting) or "join" (readers hold; only readers may follow).
-- own: a token that needs no message, its caller gets the full lease.
-- Looks at `limit` entries; at up to 16 times as many while all it does is
-- pass over those of clients it has tried, so that they block nobody.
-- Returns more, denied, for `own` the fence and the lease, and whether one
-- was served alone. more is 1 when entries went, none ended the walk and
-- others stand behind the limit.
local function grant(at, grant_ms, limit, liveness, mode, own)
  local wait = KEYS[at + 2]
  local entries = redis.call("ZRANGE", wait, 0, limit - 1)
  if #entries == 0 then
    return 0, 0
  end
  local now = now_us()
  local walk = { lock = KEYS[at], record = KEYS[at + 1], wait = wait, live = KEYS[at + 3],
    readers = KEYS[at + 4], now = now, ms = math.floor(now / 1000), grant_ms = grant_ms,
    liveness = liveness, mode = mode, own = own, reading = mode == "join",
    fence = read_record(KEYS[at + 1]), life = {}, tries = 0, gone = 0, kept = 0, denied = 0 }
  local fate = serve(walk, entries)
  while fate < STOP and #entries == limit and walk.gone == 0 and
    walk.tries < limit and walk.kept < limit * 16 do
    entries = redis.call("ZRANGE", wait, walk.kept, walk.kept + limit - 1)
    fate = serve(walk, entries)
  end
  settle(walk)
  local more = fate < STOP and walk.gone > 0 and #entries == limit and
    redis.call("ZCARD", wait) > walk.kept
  return more and 1 or 0, walk.denied, walk.own_fence, walk.own_lease, fate == SERVED
end
