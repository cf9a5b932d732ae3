-- SPDX-License-Identifier: MIT
-- Fences are whole numbers below 2^53, which a double represents exactly. Grants
-- end a million before that, so that one script may always count on.
local FENCE_END = 9007199253740992
