-- SPDX-License-Identifier: MIT
-- The field `+<token>` of a record, for a hold of which there are several: a permit's or a
-- reader's. `who` is the client's id and its label.
local function hold_field(fence, ms, who)
  return string.format("%.0f %.0f ", fence, ms) .. who
end
