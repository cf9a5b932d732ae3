-- SPDX-License-Identifier: MIT
-- Checks the caller's own entries in the arguments; include it after `misuse`.
--@include signal_entry

local function signal_entry_at(index, client)
  local of, waiter, field = parse_signal_entry(ARGV[index] or "")
  if not of or client and of ~= client then
    misuse = misuse or redis.error_reply("ILKARG no entry of this caller: '" .. tostring(ARGV[index]) .. "'")
  end
  return of, waiter, field
end
