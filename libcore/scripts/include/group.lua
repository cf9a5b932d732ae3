-- SPDX-License-Identifier: MIT
-- A group: its members, and what changed since a version.
--
--   members   zset id -> server ms at which its lease ends
--   data      hash id -> `1 <token> <data>`; '' -> `<version> <floor>`
--   changed   zset id of a member -> version of its join or last update
--   gone      zset id -> version at which it left
--
-- Each join, update and leave has a version of its own, greater than all before
-- it, and not below the server's clock in microseconds, so that a group that was
-- flushed does not repeat one. The changes after a version are those in `changed`
-- and `gone` with a greater one, if the version is not below the floor: before the
-- floor they are not complete, because the group is younger or `gone` was cut.
local group = { members = KEYS[1], data = KEYS[2], wait = KEYS[3], live = KEYS[4],
  changed = KEYS[5], gone = KEYS[6] }
