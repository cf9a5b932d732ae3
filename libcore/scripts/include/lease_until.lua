-- SPDX-License-Identifier: MIT
-- One member of leases is one reservation: its token. Its score says both the
-- server ms at which it ends and how many messages it has.
--@include queue_keys

local function lease_until(score)
  return math.floor(score / SPAN), score % SPAN
end
