-- SPDX-License-Identifier: MIT
-- Redis 6.2 can be configured to replicate scripts as text; then it refuses a
-- write after TIME. Replicating effects is its default, and the only way in later
-- servers. Include this before the first write.
if redis.replicate_commands then
  redis.replicate_commands()
end
