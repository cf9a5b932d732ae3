-- SPDX-License-Identifier: MIT

-- How long a deleted key keeps its version once all of its servers know that it was
-- deleted, and a server of a ring may be away.
local KEPT_MS = 604800000
