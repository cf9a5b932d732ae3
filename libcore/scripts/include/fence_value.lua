-- SPDX-License-Identifier: MIT
-- Fences are whole numbers below 2^53, which a double represents exactly. Grants
-- end a million before that, so that a script can always add one to the last fence.
local FENCE_END = 9007199253740992

-- A fence on record, below `limit`; 0 without one, nil when the text is none.
local function fence_value(text, limit)
  local fence = string.match(text or "0", "^%d+$") and tonumber(text or 0)
  return fence and fence < (limit or FENCE_END) and fence or nil
end
