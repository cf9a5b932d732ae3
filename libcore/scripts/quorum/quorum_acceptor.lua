--@script quorum_acceptor keys=2 args=3
--@reply STATE s s
-- SPDX-License-Identifier: MIT
-- Ask a node whether it keeps registers, and let it begin to. One that has lost its
-- memory must not: what it has promised and accepted is forgotten.
-- KEYS ilk:quorum:node, ilk:quorum:acceptor
-- ARGV nonce of the node ('' only asks), word `begins`, `returns` or `ready`, number or list
-- returns {STATE, the node's nonce, what it is: `begins <number>`, `returns <list>`,
--   `ready <list>`, or ''}
-- Registers begin when all nodes are blank: each gets `begins`, with a number of its own,
-- and when all have that, each gets `ready` with the list `<edition>:<number>-<number>-...`.
-- From then on a blank node is one that has lost its memory. It `returns` with the list's
-- next edition, which is written at the others first (quorum_adoption.c), and is `ready`
-- when it has their registers. A node that was away meanwhile keeps what it has, and gets
-- the later edition.
-- The nonce belongs to one start of the node, or one loss of its memory
-- (quorum_join.lua). So a late copy finds the word written, or changes nothing.
--@include replicate_effects

local node, acceptor, nonce, word, text = KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3]
local own = redis.call("HGET", node, "nonce") or ""
local known = redis.call("GET", acceptor) or ""
local is, has = string.match(known, "^(%l+) (.+)$")

-- Whether `list` is an earlier edition of `than`. Editions are written with eight digits.
local function is_earlier(list, than)
  return string.sub(list, 9) == string.sub(than, 9) and list < than
end

local function may_be_ready()
  if is == "begins" then
    return string.find(text, has, 1, true)
  elseif is == "returns" then
    return has == text
  end
  return is == "ready" and is_earlier(has, text)
end

local allowed = {
  begins = known == "",
  returns = is ~= "ready",
  ready = may_be_ready(),
}
if nonce ~= "" and nonce == own and allowed[word] then
  known = word .. " " .. text
  redis.call("SET", acceptor, known)
end
return { REQUEST + STATE, own, known }
