--@script signal_notify_one keys=5 args=6
--@reply SIGNALLED i i i
-- SPDX-License-Identifier: MIT
-- Signal the waiter that waits longest and can be reached; its entry leaves the
-- list. Entries of clients that cannot be reached are passed over, those of dead
-- clients are removed.
-- KEYS wait, live, crowd, given, sent
-- ARGV signal id, name, data, limit of entries in one step, keep ms of sent, the
--   field of given from which the signal moves, or ''
-- returns {SIGNALLED, reached 0|1, more, denied}; more 1: nobody yet, but
--   there are entries behind those that were tried; call again
-- A retry of a signal that reached one finds that in `sent`, and sends nothing.
-- So does a late copy, until the same handle sends another signal. A signal that
-- is not in its field any more was acknowledged or has moved already. While others
-- wait of which none can be reached now, it is kept for the next refresh.
--@include signal_message

local given, sent = KEYS[4], KEYS[5]
local id, name, data, limit, keep_ms, from = signal_id(1), ARGV[2], ARGV[3], number_at(4, 1), number_at(5, 1), ARGV[6]
if misuse then
  return misuse
end
local before = reached_before(sent, id)
if before then
  return { REQUEST + SIGNALLED, before, 0, 0 }
end
redis.call("HLEN", KEYS[3]) -- fails on a wrong type before anybody is signalled
if redis.call("HEXISTS", given, from) == 0 and from ~= "" then
  return { REQUEST + SIGNALLED, 0, 0, 0 }
end
local ms = math.floor(now_us() / 1000)
--@include give_signal

local reached, denied, kept, more = give_signal(1, signal_text(id, name, data), limit)
if reached > 0 then
  remember(sent, id, 1, keep_ms)
end
if not more and from ~= "" then
  local message = redis.call("HGET", given, from)
  redis.call("HDEL", given, from)
  if reached == 0 and (denied > 0 or kept > 0) then
    --@include orphan_field
    redis.pcall("HSET", given, orphan_field(from), message)
  end
end
return { REQUEST + SIGNALLED, reached, more and 1 or 0, denied }
