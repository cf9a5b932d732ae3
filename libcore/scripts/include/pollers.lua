-- SPDX-License-Identifier: MIT
-- Sharing a name with programs of other libraries, which poll for it. A wait queue that
-- is never empty would keep them out for ever: release hands the name on. So while one
-- of them was seen at the key within the last minute, a release leaves the name free for
-- a moment once our turn has been as long as theirs was.
--
-- The record's field `polled` is `<first> <last> <open>`, in server ms: when a foreign
-- holder was seen first since our last grant, and last, and until when the name is kept
-- free. Until then no script of ours grants the name; that ends by itself. `poller` is
-- `<since> <value>`: the foreign holder, and when it was seen first.
--
--     theirs     | free | ours, as long as theirs | free | theirs       |
--        first  last                               open -->  first     last

local function parse_polled(text)
  local first, last, open = string.match(text or "", "^(%d+) (%d+) (%d+)$")
  return tonumber(first), tonumber(last), tonumber(open)
end
