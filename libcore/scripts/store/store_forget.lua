--@script store_forget keys=1 args=1
--@reply GONE
-- SPDX-License-Identifier: MIT
-- Forget a decision, because all servers have finished the transaction and nobody will ask
-- again. The client that has each server's reply sends this.
-- KEYS store
-- ARGV id
-- returns {GONE}
-- A retry or a late copy finds nothing.
redis.call("HDEL", KEYS[1], "decided:" .. ARGV[1])
return { REQUEST + GONE }
