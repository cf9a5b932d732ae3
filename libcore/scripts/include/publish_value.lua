-- SPDX-License-Identifier: MIT
-- Stores the value that a candidate publishes once it leads; '' is not stored.
--@include election
--@include record

local function publish_value(token, value, lease)
  if value ~= "" then
    redis.call("HSET", place.values, token, value)
    if redis.call("PTTL", place.values) < lease + 86400000 then
      keep_record(place.values, lease)
    end
  end
end
