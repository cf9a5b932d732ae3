--@script kv_remove keys=1 args=2
--@reply GONE
--@reply STALE i
-- SPDX-License-Identifier: MIT
-- Remove a server's copy of a value, if it is still this version.
-- KEYS record
-- ARGV version, token
-- returns {GONE}, also when there is none | {STALE, the version that is there}
-- A retry or a late copy finds none, or another version.
--@include number
--@include kv

local record, version, token = KEYS[1], number_at(1, 0), ARGV[2]
if misuse then
  return misuse
end

local last, owner = read_value(record)
if not last then
  return no_version(record)
end
if last > 0 and (last ~= version or owner ~= token) then
  return { REQUEST + STALE, last }
end
redis.call("DEL", record)
return { REQUEST + GONE }
