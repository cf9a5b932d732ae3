--@script guard_remove keys=2 args=0
--@reply RELEASED
-- SPDX-License-Identifier: MIT
-- Remove a guarded value and its fence.
-- KEYS value, guard
-- returns {RELEASED}, also when there was none, so a retry is harmless; a late
-- copy would remove a value that was written since

redis.call("DEL", KEYS[1], KEYS[2])
return { REQUEST + RELEASED }
