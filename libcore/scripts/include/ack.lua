-- SPDX-License-Identifier: MIT
-- How deliveries end, as told by who took them. One item for each:
--   <verb> <queue> <token> <from> <to> <count> <delay ms> <reason>
-- verb: a done, n failed, r untouched, d dead; queue: which of the call's,
-- from 0; from, to: places in the reservation; count: of all its messages if
-- none of the others is open any more, else 0; reason: the rest, any bytes.
--@include number
--@include shelf

local function parse_item(text)
  local verb, queue, token, from, to, count, delay, reason =
    string.match(text, "^([anrd]) (%d+) (%S+) (%d+) (%d+) (%d+) (%d+) ?(.*)$")
  if not verb then
    return nil
  end
  return { verb = verb, at = queue * SHELF, token = token, from = tonumber(from),
    to = tonumber(to), count = tonumber(count), delay = tonumber(delay), reason = reason }
end

-- Items from `at` on, or ILKARG. verbs: those that are possible here.
local function items_at(first, verbs, queues)
  local items = {}
  for i = first, #ARGV do
    local item = parse_item(ARGV[i])
    if not item or not string.find(verbs, item.verb, 1, true) or
      item.at >= queues * SHELF or item.from < 1 or item.to < item.from or
      item.to >= SPAN or item.count >= SPAN then
      misuse = misuse or redis.error_reply("ILKARG no ending: '" .. ARGV[i] .. "'")
      return items
    end
    items[#items + 1] = item
  end
  return items
end

-- A reservation all of whose messages are finished is none any more.
local function end_lease(leases, flight, item)
  if item.count == 0 then
    return
  end
  if item.from > 1 or item.to < item.count then
    local left = redis.call("HMGET", flight, unpack(fields_of(item.token, 1, item.count)))
    for i = 1, item.count do
      if left[i] then
        return
      end
    end
  end
  redis.call("ZREM", leases, item.token)
end

-- Returns how many were still in flight.
local function acknowledge(leases, flight, item)
  local done
  if item.from == item.to then
    done = redis.call("HDEL", flight, item.token .. ":" .. item.from)
  else
    done = redis.call("HDEL", flight, unpack(fields_of(item.token, item.from, item.to)))
  end
  end_lease(leases, flight, item)
  return done
end
