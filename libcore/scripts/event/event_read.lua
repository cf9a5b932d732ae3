--@script event_read keys=1 args=0
--@reply STATE i i i s
-- SPDX-License-Identifier: MIT
-- Read an event.
-- KEYS event
-- returns {STATE, generation (0: none on record), set 0|1, ms it stays set
--   (-1: until it is cleared), data}
-- Writes nothing.
--@include event_reply

local event = KEYS[1]
return event_reply(event, read_event(event, now_us()))
