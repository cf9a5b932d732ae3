-- SPDX-License-Identifier: MIT
-- The number of the request, which is the last argument and is removed here, and
-- the codes. The first element of every reply is REQUEST + code, so a client can
-- see whether a reply belongs to its request. A code without elements may be the reply
-- itself, which takes a fraction of an array's time. Every script begins with this file.
local REQUEST = table.remove(ARGV) * 64

-- A code is below 64. The number of a removed code is not reused.
local HELD = 1
local BUSY = 2
local QUEUED = 3
local FREE = 4
local RELEASED = 5
local LOST = 6
local GONE = 7
local MORE = 8
local STALE = 9
local WRITTEN = 10
local SIGNALLED = 11
local EMPTY = 12
local JOBS = 13
local DIFFERS = 14
local STATE = 15
local REFUSED = 24
-- The lock key's value while readers hold; no token may be equal to it.
local READERS = "ilk:readers"
