-- SPDX-License-Identifier: MIT
-- Entries at the end of the arguments: their number at `at`, then the entries.
--@include number
--@include entry

local function check_entries(at)
  local count = number_at(at, 0)
  if not misuse and #ARGV ~= at + count then
    misuse = redis.error_reply("ILKARG " .. count .. " entries announced, got " .. #ARGV - at)
  end
  for i = at + 1, misuse and 0 or #ARGV do
    if not parse_entry(ARGV[i]) then
      misuse = misuse or redis.error_reply("ILKARG no entry: '" .. ARGV[i] .. "'")
    end
  end
end

-- Append for each entry what state_of returns: state, lease left, fence.
local function report_entries(reply, at, state_of)
  for i = at + 1, #ARGV do
    local last = #reply
    reply[last + 1], reply[last + 2], reply[last + 3] = state_of(ARGV[i])
  end
  return reply
end
