-- SPDX-License-Identifier: MIT
-- Endings of every kind. Items are item.lua's.
--@include ack
--@include end_otherwise

-- Returns for each item how many were still in flight: a text of numbers.
local function finish(items, order, most, now_ms, liveness)
  local done = {}
  for i, item in ipairs(items) do
    if item.verb == "a" then
      done[i] = acknowledge(KEYS[item.at + LEASES], KEYS[item.at + FLIGHT], item)
    else
      done[i] = end_otherwise(item, order, most, now_ms, liveness)
    end
  end
  return table.concat(done, " ")
end
