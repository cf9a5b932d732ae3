-- SPDX-License-Identifier: MIT
-- A queue's keys: KEYS[at + READY], with at 0 for the first queue of a call and
-- QUEUE_KEYS more for each further one.
local META, READY, WAIT, LIVE, DELAYED = 1, 2, 3, 4, 5
local LEASES, FLIGHT, DEAD, DIED, QUEUE_KEYS = 6, 7, 8, 9, 9
-- Greater than the number of messages of any call; see lease_until.lua.
local SPAN = 512
-- About how many bytes one reply may have; no message is longer.
local PLENTY = 4194304
