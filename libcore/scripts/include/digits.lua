-- SPDX-License-Identifier: MIT
-- The digits of a whole number, which mostly is the time of the server's clock.
--@include now

local function digits(number)
  return number == clock and now_text or string.format("%.0f", number)
end
