-- SPDX-License-Identifier: MIT
-- An entry of a wait queue, as its client has encoded it:
--   1 <kind> <client> <waiter> <token> <lease_ms> <permits> <who>
-- <waiter> is its id with the secret that a message for it must repeat.
-- kind: e candidate, o observer, p permits, q consumer, r reader, w to be woken,
-- x exclusive. The record of a hold has `<client> <who>`. nil for other versions, and for a
-- lease of 0, with which nothing can be granted.
local function parse_entry(text)
  local kind, client, waiter, token, lease, permits, who =
    string.match(text, "^1 ([eopqrwx]) (%S+) (%S+) (%S+) ([1-9]%d*) (%d+) ?(.*)$")
  if not kind then
    return nil
  end
  return { kind = kind, client = client, waiter = waiter, token = token,
    lease = tonumber(lease), permits = tonumber(permits), who = who }
end
