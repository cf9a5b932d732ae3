-- SPDX-License-Identifier: MIT
-- How deliveries end, as told by who took them. One item for each:
--   <verb> <queue> <token> <from> <to> <count> <delay ms> <reason>
-- verb: a done, n failed, r untouched, d dead; queue: which of the call's,
-- from 0; from, to: places in the reservation; count: of all its messages if
-- none of the others is open any more, else 0; reason: the rest, any bytes.
--@include queue_keys

local function parse_item(text)
  local verb, queue, token, from, to, count, delay, reason =
    string.match(text, "^([anrd]) (%d+) (%S+) (%d+) (%d+) (%d+) (%d+) ?(.*)$")
  if not verb then
    return nil
  end
  return { verb = verb, at = queue * QUEUE_KEYS, token = token, from = tonumber(from),
    to = tonumber(to), count = tonumber(count), delay = tonumber(delay), reason = reason }
end

-- The items from argument `first` on, or nil and ILKARG. verbs: those that
-- are possible here.
local function items_at(first, verbs, queues)
  local items = {}
  for i = first, #ARGV do
    local item = parse_item(ARGV[i])
    if not item or not string.find(verbs, item.verb, 1, true) or
      item.at >= queues * QUEUE_KEYS or item.from < 1 or item.to < item.from or
      item.to >= SPAN or item.count >= SPAN then
      return nil, redis.error_reply("ILKARG no ending: '" .. ARGV[i] .. "'")
    end
    items[#items + 1] = item
  end
  return items
end
