-- SPDX-License-Identifier: MIT
-- A signal to more clients than one call serves, for signal_notify_all.lua, whose
-- variables these are. `sent` has, while it is under way,
--   <signal id> <reached> <denied> <ticket of the last entry that had its turn> <last>
-- where `last` is the ticket of the last entry that is meant. Its entries leave the list
-- step by step, in their order.
--@include set_crowd
--@include signal_entry

-- Returns whether the server had memory for it.
local function keep_progress(from, last)
  local state = string.format("%s %.0f %d %s %s", id, reached, denied, from, last)
  return not redis.pcall("SET", sent, state, "PX", keep_ms).err
end

local function find_progress(state)
  local past, count, refused, from, last = string.match(state, "^(%S+) (%d+) (%d) (%d+) (%d+)$")
  if past == id then
    reached, denied = tonumber(count), tonumber(refused)
    return from, last
  end
end

-- Returns a client's entries among these, and the clients in their order.
local function sort_by_client(found)
  local entries, clients = {}, {}
  for i = 1, #found, 2 do
    local client = parse_signal_entry(found[i])
    if client then
      if not entries[client] then
        clients[#clients + 1], entries[client] = client, {}
      end
      table.insert(entries[client], found[i])
    end
  end
  return entries, clients
end

-- The next entries get the signal. Returns the ticket of the last of them; nil: there are
-- no more, or nobody may be signalled to.
local function signal_entries(from, last)
  local found = redis.call("ZRANGEBYSCORE", wait, "(" .. from, last, "WITHSCORES", "LIMIT", 0, STEP)
  if #found == 0 then
    return nil
  end
  local ticket = ticket_of(found[#found])
  local entries, clients = sort_by_client(found)
  local crowds = {}
  for i, client in ipairs(clients) do
    crowds[i] = { in_crowd(crowd, client) }
    signal_client(client, #entries[client], crowds[i][2], ticket)
  end
  if is_refused() then
    return nil
  end
  for i, client in ipairs(clients) do
    -- ZREM comes first: a server out of memory allows it, and then the write that follows.
    redis.call("ZREM", wait, unpack(entries[client]))
    set_crowd(crowd, client, crowds[i][1] - #entries[client], crowds[i][2])
  end
  return #found == 2 * STEP and ticket ~= last and ticket or nil
end
