-- SPDX-License-Identifier: MIT
-- A new fence, and the record of the grant that it belongs to.
--@include record
--@include next_fence
--@include digits

-- A new record has `born` and `kept` beside the four fields of every grant. One that
-- exists keeps its `born`; its grants write `given`, see given.lua, and `kept` when its
-- expiry was due. `last` is the fence before this grant; 0: there was no record.
local function write_record(key, last, fence, token, now, who, lease)
  local text, born = digits(fence), digits(now)
  local ms = math.floor(now / 1000)
  local since = string.sub(born, 1, -4)
  if last == 0 then
    redis.call("HSET", key, "fence", text, "token", token, "since", since, "who", who,
      "born", born, "kept", string.format("%.0f", ms + lease + KEPT_MS))
    redis.call("PEXPIRE", key, lease + KEPT_MS)
    return
  end
  redis.call("HSET", key, "fence", text, "token", token, "since", since, "who", who, "given", text)
  if keep_record(key, lease) then
    redis.call("HSET", key, "kept", string.format("%.0f", ms + lease + KEPT_MS))
  end
end
