--@script store_forget keys=1 args=1
--@reply GONE
-- SPDX-License-Identifier: MIT
-- All servers know that a transaction was committed: nobody will ask again. Only the one
-- that has committed it sends this.
-- KEYS store
-- ARGV id
-- returns {GONE}
-- A retry or a late copy finds nothing.
redis.call("HDEL", KEYS[1], "decided:" .. ARGV[1])
return { REQUEST + GONE }
