--@script kv_put keys=2 args=3
--@reply WRITTEN i i
-- SPDX-License-Identifier: MIT
-- Write a value, or delete it, whatever is there: on a single server, which has the only
-- copy.
-- KEYS record, once
-- ARGV token of the request, `v<value>` or `d`, 0|1 (1: other servers' versions need not
--   be read first, which here makes no difference)
-- returns {WRITTEN, version, how: 1 an earlier copy wrote it, 0 this one did, -1 this one
--   did and an earlier copy may be forgotten}
-- A retry under the same token writes nothing again, whatever came in between, and nor
-- does a late copy, for a minute (done_requests.lua).
--@include replicate_effects
--@include now
--@include number
--@include token
--@include has_forgotten
--@include kv_change
--@include kv_kept

local record, once = KEYS[1], KEYS[2]
local token, text = token_at(1), ARGV[2]
number_at(3, 0)
if not is_value(text) then
  misuse = misuse or misused_text
end
if misuse then
  return misuse
end

local done = recall(once, token)
if done then
  return { REQUEST + WRITTEN, done, 1 }
end
local last = read_value(record)
local now = now_us()
local version = last and math.max(last + 1, now)
if not version or version >= FENCE_END then
  return no_version(record)
end
local forgotten = has_forgotten(once)
write_value(record, version, token, text)
if text == "d" then
  redis.call("PEXPIRE", record, KEPT_MS)
end
remember(once, token, version, now)
return { REQUEST + WRITTEN, version, -forgotten }
