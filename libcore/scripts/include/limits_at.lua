-- SPDX-License-Identifier: MIT
--@include limits
--@include number

-- Returns liveness ms, grant ms and limit: the arguments from `first` on, or the usual
-- numbers.
local function limits_at(first)
  if #ARGV < first then
    return tonumber(LIVENESS_MS), tonumber(GRANT_MS), tonumber(GRANT_LIMIT)
  end
  return number_at(first, 1), number_at(first + 1, 1), number_at(first + 2, 1)
end
