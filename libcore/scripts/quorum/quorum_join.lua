--@script quorum_join keys=2 args=7
--@reply STATE i i i i s i
--@reply DIFFERS i i
-- SPDX-License-Identifier: MIT
-- Ask a node whether it is a member of the quorum, and take it in. It is none after
-- it was started, restarted or wiped: it may have forgotten a vote that is counted,
-- or a fence. Every client asks at each connect.
-- KEYS ilk:quorum:node, ilk:quorum:max
-- ARGV a fresh nonce, how many nodes there are, the longest lease ms,
--   the nonce to take it in under ('' only asks), floor (the greatest fence that was
--   on record at a majority among the other nodes, read after the wait was over),
--   first 0|1 (none of the nodes is a member, so there are no such others),
--   known 0|1 (the client has seen the node as a member before)
-- returns {STATE, 1 member | 0 it waits | -1 it waits and is late, ms until it may be taken in, ms until it may be as one
--   of the first, greatest fence confirmed here, nonce, now us}
--   | {DIFFERS, nodes, longest} (others use this node with another number of nodes,
--   or another longest lease)
-- A node that has lost its memory under a client that knows it is late: it waits for the
-- longest lease as one of the first, too, however long the server has run.
-- The hash {run, nonce, nodes, longest, from, early, late, member, base} is lost with all
-- else, and `run` differs after a restart. A nonce belongs to one such loss, so a
-- late copy takes a node in that waits since this loss, or finds a member.
--@include now
--@include number
--@include greatest_fence

local node, most = KEYS[1], KEYS[2]
local fresh, nodes, longest = ARGV[1], number_at(2, 3), number_at(3, 1)
local nonce, floor, first, is_known = ARGV[4], number_at(5, 0), ARGV[6] == "1", ARGV[7] == "1"
if fresh == "" then
  misuse = misuse or redis.error_reply("ILKARG the nonce is empty")
end
if misuse then
  return misuse
end

local now = now_us()
local ms = math.floor(now / 1000)
local function text(number)
  return string.format("%.0f", number)
end

-- The server's own numbers. Its seconds are rounded down, and negative when its clock
-- was set back to before its start.
local info = redis.call("INFO", "server")
local run, uptime = string.match(info, "run_id:(%w+)"), string.match(info, "uptime_in_seconds:(%-?%d+)")

local function forget()
  local early = math.max(0, longest - math.max(0, tonumber(uptime)) * 1000)
  redis.call("DEL", node)
  redis.call("HSET", node, "run", run, "nonce", fresh, "nodes", text(nodes), "longest", text(longest),
    "from", text(ms + longest), "early", text(ms + early), "member", "0", "base", "0")
end

local known = redis.call("HMGET", node, "run", "nodes", "longest")
if known[1] and (tonumber(known[2]) ~= nodes or tonumber(known[3]) ~= longest) then
  return { REQUEST + DIFFERS, tonumber(known[2]) or 0, tonumber(known[3]) or 0 }
end
if known[1] ~= run then
  forget()
end

local state = redis.call("HMGET", node, "nonce", "member", "from", "early", "late")
local member, late = state[2] == "1", state[5] == "1"
if is_known and not member and not late then
  redis.call("HSET", node, "early", state[3], "late", "1")
  state[4], late = state[3], true
end
local wait, early = math.max(0, state[3] - ms), math.max(0, state[4] - ms)
if not member and nonce == state[1] and (first and early or wait) == 0 then
  redis.call("HSET", node, "member", "1", "base", text(floor))
  if floor > greatest_fence(most) then
    redis.call("SET", most, text(floor))
  end
  member = true
end
return { REQUEST + STATE, member and 1 or late and -1 or 0, wait, early, greatest_fence(most), state[1], now }
