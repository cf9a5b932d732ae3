-- SPDX-License-Identifier: MIT
-- Giving a signal to one waiter: the one that waits longest and can be reached.
-- Its entry leaves the list, and the signal stays in given until the waiter
-- acknowledges it. Include it after `ms`, the server's time.
--@include is_alive
--@include leave_signal_list
--@include send_signal

local GIVEN_MS = 60000

-- Offer the signal, `<id> <bytes of name> <name><data>`, to one entry of the list
-- of KEYS[at]. The entry of a dead client, and one of no version (see walk.lua), is
-- removed; one of another version stays. Returns reached, denied, and whether the
-- entry is still there.
local function offer(at, text, signal, unreachable)
  local live, crowd, given = KEYS[at + 1], KEYS[at + 2], KEYS[at + 3]
  local client, waiter, field = parse_signal_entry(text)
  local owner = client or string.match(text, "^%d+ %S+ (%S+) ")
  if not owner or not is_alive(live, owner, ms) then
    leave_signal_list(at, text, owner or "")
    return 0, 0, false
  end
  local secret = client and not unreachable[client] and select(2, in_crowd(crowd, client))
  if not secret then
    return 0, 0, true
  end
  unreachable[client] = true
  local message = string.match(waiter, "^s%d+%.") .. secret .. " " .. signal
  local reached, denied = send_signal(client, message)
  if reached == 0 then
    return 0, denied, true
  end
  leave_signal_list(at, text, client)
  redis.pcall("HSET", given, field, message) -- without memory it is sent only
  redis.call("PEXPIRE", given, GIVEN_MS)
  return 1, 0, false
end

-- Goes on behind `limit` entries that were all passed over, up to 16 times.
-- Returns reached, denied, how many entries of others were passed over, and
-- whether there are others behind them.
local function give_signal(at, signal, limit)
  local wait, unreachable, kept = KEYS[at], {}, 0
  for _ = 1, 16 do
    local entries = redis.call("ZRANGE", wait, kept, kept + limit - 1)
    local before_step = kept
    for _, text in ipairs(entries) do
      local reached, denied, stays = offer(at, text, signal, unreachable)
      if reached > 0 or denied > 0 then
        return reached, denied, kept, false
      end
      kept = kept + (stays and 1 or 0)
    end
    if #entries < limit then
      return 0, 0, kept, false
    end
    if kept - before_step < #entries then
      break
    end
  end
  return 0, 0, kept, redis.call("ZCARD", wait) > kept
end
