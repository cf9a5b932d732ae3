-- SPDX-License-Identifier: MIT
-- A member of leases is the token of a reservation. Its score contains both the
-- server ms at which it ends and its number of messages.
--@include queue_keys

local function lease_until(score)
  return math.floor(score / SPAN), score % SPAN
end
