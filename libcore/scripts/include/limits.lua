-- SPDX-License-Identifier: MIT
-- Liveness ms, grant ms, limit: how long an entry lives without a refresh, the lease of a
-- grant that nobody has confirmed, and how many entries one step looks at. Calls leave them
-- out, because three arguments cost a server as much as a command. libcore/src/wait/limits.h
-- has the same numbers.
local LIVENESS_MS, GRANT_MS, GRANT_LIMIT = "6000", "5000", "64"
