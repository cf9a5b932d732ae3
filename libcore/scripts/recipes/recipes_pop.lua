--@script recipes_pop keys=2 args=3
--@reply HELD s
--@reply EMPTY
-- SPDX-License-Identifier: MIT
-- Take a value from a raw list.
-- KEYS list, once    ARGV token, end (L or R), longest value that can be read
-- returns {HELD, value} | EMPTY
-- A retry returns the value that its first copy took. A late copy, after the
-- thread's next request or a minute, would take a value that nobody handles.
--@include last_answer
--@include list_end
--@include number
--@include value_limit

local list, once = KEYS[1], KEYS[2]
local token, at, most = ARGV[1], ARGV[2], number_at(3, 1)
misuse = misuse or not_list_end(2)
if misuse then
  return misuse
end

local done = answered(once, token)
if done then
  return { REQUEST + HELD, done }
end
local value = redis.call("LINDEX", list, at == "L" and 0 or -1)
if not value then
  return REQUEST + EMPTY
end
local refused = too_long(list, value, most)
if refused then
  return refused
end
redis.call(at .. "POP", list)
remember(once, token, value)
return { REQUEST + HELD, value }
