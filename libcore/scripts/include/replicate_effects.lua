-- SPDX-License-Identifier: MIT
-- A 6.2 that is told to replicate scripts as text refuses a write after
-- TIME. Effects are the default there, and all there is in later servers.
-- Comes before the first write.
if redis.replicate_commands then
  redis.replicate_commands()
end
