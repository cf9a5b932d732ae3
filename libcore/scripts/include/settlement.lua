-- SPDX-License-Identifier: MIT
-- Settlements: how deliveries ended, from their consumer. Each is
--   <kind> <queue> <token> <from> <to> <count> <delay ms> <reason>
-- kind: a done, n failed, r untouched, d dead; queue: which of the call's,
-- from 0; from, to: places in the reservation; count: the reservation's size if
-- no other message of it is open, else 0; reason: the rest, any bytes.
--@include queue_keys

local function parse_settlement(text)
  local kind, queue, token, from, to, count, delay, reason =
    string.match(text, "^([anrd]) (%d+) (%S+) (%d+) (%d+) (%d+) (%d+) ?(.*)$")
  if not kind then
    return nil
  end
  return { kind = kind, at = queue * QUEUE_KEYS, token = token, from = tonumber(from),
    to = tonumber(to), count = tonumber(count), delay = tonumber(delay), reason = reason }
end

-- The settlements from argument `first` on, or nil and ILKARG. kinds: those that
-- are allowed here.
local function settlements_at(first, kinds, queues)
  local settlements = {}
  for i = first, #ARGV do
    local settlement = parse_settlement(ARGV[i])
    if not settlement or not string.find(kinds, settlement.kind, 1, true) or
      settlement.at >= queues * QUEUE_KEYS or settlement.from < 1 or settlement.to < settlement.from or
      settlement.to >= SPAN or settlement.count >= SPAN then
      return nil, redis.error_reply("ILKARG no settlement: '" .. ARGV[i] .. "'")
    end
    settlements[#settlements + 1] = settlement
  end
  return settlements
end
