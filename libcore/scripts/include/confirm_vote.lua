-- SPDX-License-Identifier: MIT
-- Confirm one node's vote: it cannot be yielded any more, has its full lease, and
-- the hold's fence is on record here.
--@include no_fence
--@include now
--@include keep_record
--@include given
--@include quorum_node
--@include greatest_fence

-- key: table {lock, record, node, most}. given: the fence that came with this vote;
-- fence: the greatest that came with any vote. Returns the reply that refuses it, and
-- nothing is changed; or nil, the lease and the fence on record.
local function confirm_vote(key, now, token, lease, renews, given, fence)
  local refused, base = waits_to_join(key.node, now)
  if refused then
    return { REQUEST + REFUSED, refused }
  end
  if redis.call("GET", key.lock) ~= token then
    return { REQUEST + LOST }
  end
  local last, record_token, last_given = read_grant(key.record)
  if not last or fence >= FENCE_END then
    return no_fence(key.record)
  end
  if record_token ~= token or last_given ~= given or given <= base then
    return { REQUEST + LOST }
  end

  if renews then
    lease = math.max(lease, redis.call("PTTL", key.lock))
  end
  redis.call("PEXPIRE", key.lock, lease)
  last = math.max(last, fence)
  redis.call("HSET", key.record, "fence", string.format("%.0f", last), "held", string.format("%.0f", given))
  keep_record(key.record, lease)
  if fence > greatest_fence(key.most) then
    redis.call("SET", key.most, string.format("%.0f", fence))
  end
  return nil, lease, last
end
