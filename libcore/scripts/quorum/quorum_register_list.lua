--@script quorum_register_list keys=1 args=3
--@reply STATE s *
--@reply REFUSED
-- SPDX-License-Identifier: MIT
-- List the registers that a node keeps, some at a time.
-- KEYS ilk:quorum:acceptor
-- ARGV list, cursor of SCAN ('0' begins), how many keys to look at
-- returns {STATE, the next cursor ('0': these were the last), their keys}
--   | {REFUSED}: the node has lost its memory, or has another list
-- A register that is there from the beginning to the end is in one of the replies, and
-- may be in several. A retry or a late copy reads again.
--@include number
--@include acceptor_ready

local acceptor, list, cursor, count = KEYS[1], ARGV[1], ARGV[2], number_at(3, 1)
if misuse then
  return misuse
end

if not is_ready(acceptor, list) then
  return { REQUEST + REFUSED }
end
local page = redis.call("SCAN", cursor, "MATCH", "ilk:quorum:register:*", "COUNT", count)
local reply = { REQUEST + STATE, page[1] }
for i, key in ipairs(page[2]) do
  reply[i + 2] = key
end
return reply
