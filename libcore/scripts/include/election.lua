-- SPDX-License-Identifier: MIT
-- An election's keys, the same for all of its scripts: the leader's token,
-- the record, the wait queue of candidates, their clients, what each candidate
-- publishes (hash: token -> value), the wait queue of observers.
local place = { lock = KEYS[1], record = KEYS[2], wait = KEYS[3], live = KEYS[4],
  values = KEYS[5], seen = KEYS[6] }
