--@script register_wait keys=4 args=6
--@reply STATE i i s
--@reply QUEUED i i i
--@reply BUSY i i i
-- SPDX-License-Identifier: MIT
-- Wait until a register has another version than a known one.
-- KEYS register, once, wait, live
-- ARGV entry ('': do not wait), client, liveness ms, limit (keeps its place),
--   token, the version known (0: wait until there is one)
-- returns {STATE, as register_get} | {QUEUED or BUSY, -1, now us, 1}
-- A retry keeps its place, or finds the change. The entry of a late copy stays
-- until the next change.
--@include replicate_effects
--@include token
--@include now
--@include enqueue
--@include register

local register, _, wait, live = unpack(KEYS)
local entry, client, liveness = ARGV[1], ARGV[2], number_at(3, 1)
local token, known = token_at(5), number_at(6, 0)
if entry ~= "" then
  check_entry(entry, "o", client, token)
end
if misuse then
  return misuse
end

local now = now_us()
local version, has_value, value = read_register(register)
if not version then
  return no_version(register)
end
if version ~= known then
  if entry ~= "" then
    redis.call("ZREM", wait, entry)
  end
  return { REQUEST + STATE, version, has_value, value }
end
if entry == "" then
  return { REQUEST + BUSY, -1, now, 1 }
end
enqueue(wait, live, entry, client, now, liveness)
return { REQUEST + QUEUED, -1, now, 1 }
