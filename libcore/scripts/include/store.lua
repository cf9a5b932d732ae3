-- SPDX-License-Identifier: MIT
-- A store of keys with versions by timestamp, see interlock/store.h.
--
--   store        hash {last, ring, decided:<id>..., intents:<id>...}
--     last       the greatest timestamp that was given
--     ring       the servers that keep the store, where it is several (store_place.lua)
--     decided:<id>  a transaction over several servers that is committed, until all of them
--                have finished it: its timestamp, the time of the decision, and its keys
--     intents:<id>  of a transaction with intents here: the time when they were written,
--                and its keys, on all servers, each as `<bytes>:<key>`
--   done         zset `c <id>` (committed) or `a <id>` (aborted) -> the timestamp, or the
--                time of the abort
--   a key        hash {read, versions, cut, intent, intended, <timestamp>...}
--     read       the greatest timestamp of a transaction that has read it
--     versions   the timestamps of its versions, in their order, with spaces between
--     cut        1: there were earlier versions
--     <timestamp>  `v<value>`, or `d` where the key was deleted
--     intent     `<timestamp> <id>` of a transaction over several servers, which may be
--                committed, and `intended`, the version that it then writes
--
-- A timestamp belongs to one transaction. It is in microseconds, and not below the
-- server's clock when it was given.
--@include digits
--@include number

-- How long former versions are kept, and a transaction may last. A key without a value
-- outlasts each transaction that may have seen one.
local KEEP_US = 60000000
local GONE_MS = 2 * KEEP_US / 1000
