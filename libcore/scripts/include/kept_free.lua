-- SPDX-License-Identifier: MIT
-- Whether a name is kept free for other libraries, see pollers.lua.
--@include pollers

-- redis-py polls each 100 ms.
local FREE_MS = 100

-- How long the name is still kept free, in ms; nil: it is not. Once a foreign holder was
-- seen in that time, the name is no longer kept free.
local function kept_free(polled, ms)
  local _, last, open = parse_polled(polled)
  if open and ms < open and open - ms <= FREE_MS and last < open - FREE_MS then
    return open - ms
  end
end
