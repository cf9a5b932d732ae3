-- SPDX-License-Identifier: MIT
-- A new fence, and the record of the grant that it belongs to.
--@include record
--@include next_fence

-- One call writes all: a record that exists keeps its birth, and `who` is
-- written twice. `last` is the fence before this grant; 0: there was no record.
local function write_record(key, last, fence, token, now, who, lease)
  local since = string.format("%.0f", math.floor(now / 1000))
  local field, value = "who", who
  if last == 0 then
    field, value = "born", string.format("%.0f", now)
  end
  redis.call("HSET", key, "fence", string.format("%.0f", fence), "token", token,
    "since", since, "who", who, field, value)
  keep_record(key, lease)
end
