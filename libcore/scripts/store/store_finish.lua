--@script store_finish keys=1* args=2
--@reply WRITTEN i
-- SPDX-License-Identifier: MIT
-- The second phase of a commit over several servers: make its intents versions, or drop
-- them, as was decided.
-- KEYS store, done, then keys that it writes here
-- ARGV id, 1 it was committed | 0 it was aborted
-- returns {WRITTEN, how many intents there were}
-- A retry or a late copy finds none. A prepare that comes later finds the end.
--@include replicate_effects
--@include now
--@include store_key
--@include store_write
--@include store_done

local store, done = unpack(KEYS)
local id, is_committed = ARGV[1], number_at(2, 0) == 1
if misuse then
  return misuse
end

local now = now_us()
local found, last = 0, now
for i = 3, #KEYS do
  local key = KEYS[i]
  local _, versions, at, by = read_key(key)
  if by == id then
    local version = redis.call("HGET", key, "intended")
    redis.call("HDEL", key, "intent", "intended")
    if is_committed then
      write_version(key, versions, at, version, now)
    else
      local _, last_digits = newest(versions)
      if not last_digits or redis.call("HGET", key, last_digits) == "d" then
        redis.call("PEXPIRE", key, GONE_MS)
      end
    end
    found, last = found + 1, at
  end
end
redis.call("HDEL", store, "intents:" .. id)
note_done(done, (is_committed and "c " or "a ") .. id, last, now)
return { REQUEST + WRITTEN, found }
