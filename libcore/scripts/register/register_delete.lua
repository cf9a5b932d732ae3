--@script register_delete keys=4 args=3
--@reply STATE i i i i
--@reply STALE i i s i
-- SPDX-License-Identifier: MIT
-- Delete a register's value, whatever is there or only a known version. The
-- register keeps a new version for a day.
-- KEYS register, once, wait, live
-- ARGV token of the request, the version to delete ('': any), limit
-- returns {STATE, version, how, clients still to be notified, denied}, as
--     register_set
--   | {STALE, version on record, 1 if there is a value, value, 1 if an earlier
--     copy may be forgotten}: another version, or no value; nothing is changed
-- A retry under the same token deletes nothing again, whatever came in between;
-- nor does a late copy, for a minute (done_requests.lua).
--@include replicate_effects
--@include token
--@include register_write

local register, once, wait, live = unpack(KEYS)
local token, limit = token_at(1), number_at(3, 1)
local known = ARGV[2] ~= "" and number_at(2, 0) or nil
if misuse then
  return misuse
end

local last, has_value, value = read_register(register)
local done = recall(once, token)
if done then
  return { REQUEST + STATE, done, 1, wake_clients(wait, live, limit) }
end
local now = now_us()
local version = last and next_version(last, now)
if not version then
  return no_version(register)
end
local forgotten = has_forgotten(once)
if has_value == 0 or (known and known ~= last) then
  return { REQUEST + STALE, last, has_value, value, forgotten }
end
-- A server out of memory lets a script go on after its first write, and HDEL
-- needs no memory: deleting must work there too.
redis.call("HDEL", register, "value")
redis.call("HSET", register, "version", string.format("%.0f", version))
redis.call("PEXPIRE", register, DAY_MS)
remember(once, token, version, now)
return { REQUEST + STATE, version, -forgotten, wake_all(wait, live, limit) }
