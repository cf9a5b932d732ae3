--@script recipes_push keys=2 args=3
--@reply WRITTEN i
-- SPDX-License-Identifier: MIT
-- Put a value on a raw list.
-- KEYS list, once    ARGV token, end (L or R), value
-- returns {WRITTEN, length of the list}
-- A retry finds its own answer and puts nothing. A late copy, after the
-- thread's next request or a minute, would put the value again.
--@include last_answer
--@include list_end

local list, once = KEYS[1], KEYS[2]
local token, at, value = ARGV[1], ARGV[2], ARGV[3]
if not_list_end(2) then
  return not_list_end(2)
end

local done = answered(once, token)
if done then
  return { REQUEST + WRITTEN, tonumber(done) }
end
local length = redis.call(at .. "PUSH", list, value)
remember(once, token, length)
return { REQUEST + WRITTEN, length }
