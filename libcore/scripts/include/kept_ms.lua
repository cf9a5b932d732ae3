-- SPDX-License-Identifier: MIT
-- How long a record of fences outlives the lease when its expiry is set. It is set again
-- when half of that is left.
local KEPT_MS = 86400000
