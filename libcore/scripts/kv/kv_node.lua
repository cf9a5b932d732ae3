--@script kv_node keys=1 args=3
--@reply STATE i i s
-- SPDX-License-Identifier: MIT
-- Ask a server of a ring up to which version it has had all values, and raise that.
-- KEYS ilk:kv:node
-- ARGV version (0: do not raise), pass ('' or the name of a pass of ilk_kv_move()), a
--   fresh name for the server
-- returns {STATE, its mark (0: it has none), now us, its name}
-- A server keeps the first name that it gets, so two addresses of one server are found.
-- A pass without a version begins: its name is noted at the server. With a version it
-- has ended, and only a server that still knows its name has not been wiped meanwhile.
-- A retry or a late copy finds the mark as great, or greater.
--@include replicate_effects
--@include now
--@include number
--@include kv_mark

local node, version, pass, name = KEYS[1], number_at(1, 0), ARGV[2], ARGV[3]
if misuse then
  return misuse
end

local now = now_us()
if version == 0 and pass ~= "" then
  redis.call("HSET", node, "pass", pass)
elseif version > 0 and (pass == "" or redis.call("HGET", node, "pass") == pass) then
  raise_mark(node, version)
end
local own = redis.call("HGET", node, "name")
if not own then
  redis.call("HSET", node, "name", name)
end
return { REQUEST + STATE, read_mark(node), now, own or name }
