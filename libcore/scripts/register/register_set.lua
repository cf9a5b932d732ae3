--@script register_set keys=4 args=4
--@reply STATE i i i i
--@reply STALE i i s i
-- SPDX-License-Identifier: MIT
-- Write a register's value, whatever is there or only over a known version.
-- KEYS register, once, wait, live
-- ARGV token of the request, the version to write over ('': any), value, limit
-- returns {STATE, version, how: 1 an earlier copy wrote it, 0 this one did, -1
--     this one did and an earlier copy may be forgotten, clients still to be
--     notified, denied}
--   | {STALE, version on record, 1 if there is a value, value, 1 if an earlier
--     copy may be forgotten}: nothing is changed
-- A retry under the same token writes nothing again, whatever came in between;
-- it notifies waiters that were left out. So does a late copy, for a minute
-- (done_requests.lua); after that it would write again, unless it has a version.
--@include replicate_effects
--@include token
--@include register_write
--@include digits

local register, once, wait, live = unpack(KEYS)
local token, value, limit = token_at(1), ARGV[3], number_at(4, 1)
local known = ARGV[2] ~= "" and number_at(2, 0) or nil
if misuse then
  return misuse
end

local last, has_value, old = read_register(register)
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
if known and known ~= last then
  return { REQUEST + STALE, last, has_value, old, forgotten }
end
redis.call("HSET", register, "version", digits(version), "value", value)
if has_value == 0 and last > 0 then
  redis.call("PERSIST", register)
end
remember(once, token, version, now)
return { REQUEST + STATE, version, -forgotten, wake_all(wait, live, limit) }
