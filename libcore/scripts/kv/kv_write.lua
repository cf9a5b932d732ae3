--@script kv_write keys=2 args=4
--@reply WRITTEN
--@reply STALE i
-- SPDX-License-Identifier: MIT
-- Give one server of a ring a value, unless it has a newer one.
-- KEYS record, ilk:kv:node
-- ARGV version, token, `v<value>` or `d`, 0|1 (1: the server has missed nothing, so its
--   mark may rise: kv_node.lua). One without a mark gets none: it is new, or was wiped since
--   the caller has read its mark
-- returns {WRITTEN}, also when it has this version | {STALE, the newer version}
-- A retry or a late copy finds its version, or a newer one.
--@include replicate_effects
--@include number
--@include kv_change
--@include kv_mark

local record, node = KEYS[1], KEYS[2]
local version, token, text, marks = number_at(1, 1), ARGV[2], ARGV[3], number_at(4, 0)
if not is_value(text) then
  misuse = misuse or misused_text
end
if misuse then
  return misuse
end

local seen = marks == 1 and read_mark(node)
local last, owner = read_value(record)
if not last then
  return no_version(record)
end
if last > version or (last == version and owner > token) then
  return { REQUEST + STALE, last }
end
if last < version or owner ~= token then
  write_value(record, version, token, text)
end
if seen and seen > 0 and (text == "d" or seen < version - MARK_US) then
  raise_mark(node, version)
end
return { REQUEST + WRITTEN }
