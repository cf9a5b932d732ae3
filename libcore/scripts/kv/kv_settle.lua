--@script kv_settle keys=1 args=2
--@reply WRITTEN
--@reply STALE i
-- SPDX-License-Identifier: MIT
-- Let the version of a deleted key expire, once all of its servers have the deletion.
-- KEYS record
-- ARGV version, token
-- returns {WRITTEN} | {STALE, the version that is there instead (0: none)}
-- A retry or a late copy finds the same with its expiry, or another version.
--@include replicate_effects
--@include number
--@include kv
--@include kv_kept

local record, version, token = KEYS[1], number_at(1, 1), ARGV[2]
if misuse then
  return misuse
end

local last, owner, value = read_value(record)
if not last then
  return no_version(record)
end
if last ~= version or owner ~= token or value then
  return { REQUEST + STALE, last }
end
if redis.call("PTTL", record) < 0 then
  redis.call("PEXPIRE", record, KEPT_MS)
end
return { REQUEST + WRITTEN }
