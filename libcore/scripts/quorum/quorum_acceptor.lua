--@script quorum_acceptor keys=2 args=3
--@reply STATE s s
-- SPDX-License-Identifier: MIT
-- Ask a node whether it keeps registers, and let it begin to. One that has lost its
-- memory must not: what it has promised and accepted is forgotten.
-- KEYS ilk:quorum:node, ilk:quorum:acceptor
-- ARGV nonce of the node ('' only asks), word `begins` or `ready`, number or list
-- returns {STATE, the node's nonce, what it is: `begins <number>`, `ready <list>`, or ''}
-- Registers begin when all nodes are blank: each gets `begins`, with a number of its own,
-- and when all have that, each gets `ready` with the list of these numbers. From then on
-- a blank node is one that has lost its memory, and its next number is in no list.
-- The nonce belongs to one start of the node, or one loss of its memory
-- (quorum_join.lua). So a late copy finds the word written, or changes nothing.
--@include replicate_effects

local node, acceptor, nonce, word, text = KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3]
local own = redis.call("HGET", node, "nonce") or ""
local known = redis.call("GET", acceptor) or ""
local number = string.match(known, "^begins (%x+)$")
local belongs = number and string.find(text, number, 1, true)
if nonce ~= "" and nonce == own and (word == "begins" and known == "" or word == "ready" and belongs) then
  known = word .. " " .. text
  redis.call("SET", acceptor, known)
end
return { REQUEST + STATE, own, known }
