-- SPDX-License-Identifier: MIT

-- How long a deleted key keeps its version once all of its servers have the deletion, and
-- so how long a server of a ring may be away.
local KEPT_MS = 604800000
