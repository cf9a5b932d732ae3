-- SPDX-License-Identifier: MIT
-- Ballots: a counter, and the number of the proposer. They are compared as numbers.
--@include acceptor

local function is_greater(counter, proposer, than_counter, than_proposer)
  return counter > than_counter or (counter == than_counter and proposer > than_proposer)
end
