-- SPDX-License-Identifier: MIT
-- Where the things of a queue lie: KEYS[at + READY], with at 0 for the first
-- queue of a call and QUEUE_KEYS more for each further one.
local META, READY, WAIT, LIVE, DELAYED = 1, 2, 3, 4, 5
local LEASES, FLIGHT, DEAD, DIED, QUEUE_KEYS = 6, 7, 8, 9, 9
-- More than the messages of any call.
local SPAN = 512
-- About what one reply may have; a message is never longer.
local PLENTY = 4194304
