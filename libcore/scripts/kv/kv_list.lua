--@script kv_list keys=1 args=2
--@reply STATE s *
-- SPDX-License-Identifier: MIT
-- List the records of values that a server has, some at a time.
-- KEYS ilk:kv:node, which is not read: a script has a key
-- ARGV cursor of SCAN ('0' begins), how many keys to look at
-- returns {STATE, the next cursor ('0': these were the last), their keys}
-- A record that is there from the beginning to the end is in one of the replies, and may
-- be in several. A retry or a late copy reads again.
--@include number

local cursor, count = ARGV[1], number_at(2, 1)
if misuse then
  return misuse
end

local page = redis.call("SCAN", cursor, "MATCH", "ilk:kv*", "COUNT", count)
local reply = { REQUEST + STATE, page[1] }
for _, key in ipairs(page[2]) do
  -- The other keys are ilk:kv:once and ilk:kv:node.
  if string.find(key, "^ilk:kv[:=~]") and not string.find(key, "^ilk:kv:%l") then
    reply[#reply + 1] = key
  end
end
return reply
