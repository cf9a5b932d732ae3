-- SPDX-License-Identifier: MIT
-- Fences are whole numbers below 2^53, which a double represents exactly. Grants
-- end a million before that, so that a script can always add one to the last fence.
local FENCE_END = 9007199253740992
