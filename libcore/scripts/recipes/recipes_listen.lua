--@script recipes_listen keys=1 args=1
--@reply RELEASED
-- SPDX-License-Identifier: MIT
-- A waiter of one-to-one signals is ready for another.
-- KEYS signalled    ARGV the waiter's channel
-- returns {RELEASED}, also if it was not in signalled, so a retry is harmless

redis.call("ZREM", KEYS[1], ARGV[1])
return { REQUEST + RELEASED }
