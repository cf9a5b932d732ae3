-- SPDX-License-Identifier: MIT
-- A break leaves a mark in the record: it lets a repeated release distinguish a
-- break from its own earlier copy, and a repeated break finds that it was done.
--@include record

local function is_broken_by(record, request)
  return request ~= "" and redis.call("HMGET", record, "breaker")[1] == request
end

-- Call this after the write that ends the hold and before the next grant.
-- `token` is that of the hold, or '' for all readers. A server out of memory
-- refuses the mark, but not the break.
local function mark_break(record, request, token)
  local fence = redis.call("HMGET", record, "fence")[1] or "0"
  redis.pcall("HSET", record, "broken", fence, "victim", token, "breaker", request)
  if fence == "0" then
    keep_record(record, 0)
  end
end
