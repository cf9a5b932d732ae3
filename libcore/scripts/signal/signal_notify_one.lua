--@script signal_notify_one keys=4 args=5
--@reply SIGNALLED i i i
-- SPDX-License-Identifier: MIT
-- Signal the waiter that waits longest and can be reached; its entry leaves the
-- list. Entries of clients that cannot be reached are passed over, those of dead
-- clients are removed.
-- KEYS wait, live, crowd, sent
-- ARGV signal id, name, data, limit of entries in one step, keep ms of sent
-- returns {SIGNALLED, reached 0|1, more, denied}; more 1: nobody yet, but
--   there are entries behind those that were tried; call again
-- A retry of a signal that reached one finds that in `sent`, and sends nothing.
-- So does a late copy, until the same handle sends another signal.
--@include signal_message
--@include leave_signal_list

local wait, live, crowd, sent = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, name, data, limit, keep_ms = signal_id(1), ARGV[2], ARGV[3], number_at(4, 1), number_at(5, 1)
if misuse then
  return misuse
end
local before = reached_before(sent, id)
if before then
  return { SIGNALLED, before, 0, 0 }
end
redis.call("HLEN", crowd) -- of a wrong type: say so before anybody is told

local ms, unreachable, kept = math.floor(now_us() / 1000), {}, 0

-- Try one entry. Returns reached and denied; a dead client's entry is removed.
local function offer(text)
  local client, waiter = parse_signal_entry(text)
  if client and not is_alive(live, client, ms) then
    leave_signal_list(1, text, client)
    return 0, 0
  end
  kept = kept + 1
  if not client or unreachable[client] then
    return 0, 0
  end
  local reached, denied = try_publish("ilk:inbox:" .. client, signal_message("signal", waiter, id, name, data))
  if reached > 0 then
    leave_signal_list(1, text, client)
    remember(sent, id, 1, keep_ms)
  end
  unreachable[client] = true
  return reached, denied
end

-- Goes on behind `limit` entries that were all passed over, up to 16 times.
local entries
for _ = 1, 16 do
  entries = redis.call("ZRANGE", wait, kept, kept + limit - 1)
  local before_step = kept
  for _, text in ipairs(entries) do
    local reached, denied = offer(text)
    if reached > 0 or denied > 0 then
      return { SIGNALLED, reached > 0 and 1 or 0, 0, denied }
    end
  end
  if #entries < limit then
    return { SIGNALLED, 0, 0, 0 }
  end
  if kept - before_step < #entries then
    break
  end
end
return { SIGNALLED, 0, redis.call("ZCARD", wait) > kept and 1 or 0, 0 }
