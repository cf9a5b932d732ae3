-- SPDX-License-Identifier: MIT
-- Dates a record that a waiter or an extend creates. A release that finds its
-- token gone compares the record's age with its hold's. `last` is the fence
-- before this write; 0: there was no record.
local function date_record(key, last, now)
  if last == 0 then
    redis.call("HSET", key, "born", string.format("%.0f", now))
  end
end
