-- SPDX-License-Identifier: MIT
-- Sending signals. sent is a string of the sending handle: the id of its last
-- signal that reached somebody, and how many it reached. A retry finds it.
--@include number
--@include now
--@include try_publish

-- Returns how many waiters an earlier copy of this signal reached, nil for a new one; and
-- the text of `sent`.
local function reached_before(sent, id)
  local text = redis.call("GET", sent) or ""
  local past, reached = string.match(text, "^(%S+) (%d+)$")
  return past == id and tonumber(reached) or nil, text
end

local function remember(sent, id, reached, keep_ms)
  redis.pcall("SET", sent, id .. " " .. string.format("%.0f", reached), "PX", keep_ms)
end

-- A signal's message behind the word for its receiver.
local function signal_text(id, name, data)
  return string.format("%s %d ", id, #name) .. name .. data
end

local function signal_id(index)
  if not string.find(ARGV[index], "^[^%s%c]+$") then
    misuse = misuse or redis.error_reply("ILKARG argument " .. index ..
      " must be a signal's id, got '" .. ARGV[index] .. "'")
  end
  return ARGV[index]
end
