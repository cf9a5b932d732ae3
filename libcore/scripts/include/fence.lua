-- SPDX-License-Identifier: MIT
-- A new fence, and the record of the grant that it belongs to.
--@include record
--@include next_fence

-- One HSET writes all fields, so it always has five of them. For a new record
-- the fifth is `born`; a record that exists keeps its `born`, and the fifth
-- is `given`, see given.lua. `last` is the fence before this grant; 0: there was
-- no record.
local function write_record(key, last, fence, token, now, who, lease)
  local since = string.format("%.0f", math.floor(now / 1000))
  local field, value = "given", string.format("%.0f", fence)
  if last == 0 then
    field, value = "born", string.format("%.0f", now)
  end
  redis.call("HSET", key, "fence", string.format("%.0f", fence), "token", token,
    "since", since, "who", who, field, value)
  keep_record(key, lease)
end
