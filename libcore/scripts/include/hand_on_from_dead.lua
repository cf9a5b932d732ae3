-- SPDX-License-Identifier: MIT
--@include hand_on_signal

-- Hand on the signals that were given to clients that have died since, up to
-- `limit` of them. A field of another form is another version's, and stays.
local function hand_on_from_dead(at, limit)
  local given, left = KEYS[at + 3], limit
  for _, field in ipairs(redis.call("HKEYS", given)) do
    local client = string.match(field, "^(%S+) %S+$")
    if left > 0 and client and not is_alive(KEYS[at + 1], client, ms) then
      hand_on(at, field, limit)
      left = left - 1
    end
  end
end
