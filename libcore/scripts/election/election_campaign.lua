--@script election_campaign keys=6 args=12
--@reply HELD i i i
--@reply QUEUED i i i
--@reply BUSY i i i
-- SPDX-License-Identifier: MIT
-- Lead if nobody does and nobody waits, else join the wait queue.
-- KEYS leader, fence, wait, live, value, seen
-- ARGV token, lease ms, who, floor, entry ('': do not wait), client, -
--   (lock_acquire's barge, ignored), liveness ms, grant ms, limit, value, and
--   what tokens of this identity begin with ('': none)
-- returns {HELD, lease left, term, now us}
--   | {QUEUED | BUSY, leader's pttl (-2: nobody leads), now us, ours}
-- A retry under the same token finds its leadership, and a retried entry keeps
-- its place. A late copy could lead again until the lease ends; with an identity
-- it could also take over from a newer leader of that identity.
--@include no_fence
--@include token
--@include enqueue
--@include raise_fence
--@include elect
--@include end_leadership
--@include publish_value
--@include is_ours

local token, lease, who, floor = token_at(1), number_at(2, 1), ARGV[3], number_at(4, 0)
local entry, client, liveness = ARGV[5], ARGV[6], number_at(8, 1)
local grant_ms, limit, value, identity = number_at(9, 1), number_at(10, 1), ARGV[11], ARGV[12]
if entry ~= "" then
  check_entry(entry, "e", client, token)
end
if misuse then
  return misuse
end

local now = now_us()
local last, last_token = read_record(place.record)
if not last or floor >= FENCE_END then
  return no_fence(place.record)
end
check_types()

local function lead()
  local term = next_fence(last, now, floor)
  redis.call("SET", place.lock, token, "PX", lease)
  write_record(place.record, last, term, token, now, who, lease)
  if redis.call("EXISTS", place.wait) == 0 then
    redis.call("DEL", place.values)
  end
  publish_value(token, value, lease)
  tell_observers(limit)
  return { REQUEST + HELD, lease, term, now }
end

-- Another token of this identity leads, from an earlier process: the caller
-- takes over, and the term goes on.
local function lead_on(former)
  redis.call("SET", place.lock, token, "PX", lease)
  redis.call("HSET", place.record, "token", token, "who", who)
  redis.call("HINCRBY", place.record, "version", 1)
  keep_record(place.record, lease)
  redis.call("HDEL", place.values, former)
  publish_value(token, value, lease)
  redis.call("ZREM", place.wait, entry)
  tell_observers(limit)
  return { REQUEST + HELD, lease, last, now }
end

local leader = redis.call("GET", place.lock)
if leader == token and last_token == token then
  return { REQUEST + HELD, redis.call("PTTL", place.lock), last, now }
elseif leader == token or not leader and redis.call("EXISTS", place.wait) == 0 then
  return lead()
elseif identity ~= "" and leader and leader == last_token and
  string.sub(leader, 1, #identity) == identity then
  return lead_on(leader)
end

if entry ~= "" then
  raise_fence(place.record, last, floor, lease, now)
  enqueue(place.wait, place.live, entry, client, now, liveness)
  publish_value(token, value, lease)
end
local ours = is_ours(leader, last_token)
if not leader then
  local _, denied, elected, term, left = elect(grant_ms, limit, liveness, entry ~= "" and token or nil)
  if term then
    return { REQUEST + HELD, left, term, now }
  end
  if not elected then
    end_leadership(last_token, limit)
  end
  ours = elected and 1 or 0
  if entry == "" and not elected and denied == 0 and redis.call("EXISTS", place.wait) == 0 then
    last = read_record(place.record)
    return lead()
  end
end
return { REQUEST + (entry == "" and BUSY or QUEUED), redis.call("PTTL", place.lock), now, ours }
