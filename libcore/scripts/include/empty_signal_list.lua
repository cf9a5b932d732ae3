-- SPDX-License-Identifier: MIT
-- Emptying the list of signal_notify_all.lua, whose variables these are.
--@include crowd
--@include signal_entry

-- Later waiters get greater tickets, also when the list is empty meanwhile.
local function keep_ticket(ticket)
  redis.pcall("HSET", crowd, "ticket", ticket)
  redis.call("PEXPIRE", crowd, keep_ms)
end

-- An entry of another version stays, for a signal of its version.
local function empty_list(clients, count)
  if redis.call("ZCARD", wait) == count then
    redis.call("UNLINK", wait, crowd)
    return
  end
  for _, entry in ipairs(redis.call("ZRANGE", wait, 0, -1)) do
    if parse_signal_entry(entry) then
      redis.call("ZREM", wait, entry)
    end
  end
  for _, client in ipairs(clients) do
    redis.call("HDEL", crowd, crowd_field(client))
  end
end
