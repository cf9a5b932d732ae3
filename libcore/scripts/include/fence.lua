-- SPDX-License-Identifier: MIT
-- A new fence, and the record of the grant that it belongs to.
--@include record
--@include next_fence

-- A new record has `born` and `kept` beside the four fields of every grant. One that
-- exists keeps its `born`; its grants write `given`, see given.lua, and `kept` when its
-- expiry was due. `last` is the fence before this grant; 0: there was no record.
-- now_text: the digits of `now`. Returns those of the fence.
local function write_record(key, last, fence, token, now, who, lease, now_text)
  local text = fence == now and now_text or string.format("%.0f", fence)
  local ms = math.floor(now / 1000)
  local since = string.sub(now_text, 1, -4)
  if last == 0 then
    redis.call("HSET", key, "fence", text, "token", token, "since", since, "who", who,
      "born", now_text, "kept", string.format("%.0f", ms + lease + KEPT_MS))
    redis.call("PEXPIRE", key, lease + KEPT_MS)
    return text
  end
  redis.call("HSET", key, "fence", text, "token", token, "since", since, "who", who, "given", text)
  if keep_record(key, lease) then
    redis.call("HSET", key, "kept", string.format("%.0f", ms + lease + KEPT_MS))
  end
  return text
end
