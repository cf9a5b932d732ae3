-- SPDX-License-Identifier: MIT
-- How many receivers a message has at least, if its client is alive by its liveness.
-- In a cluster it is 1: the server counts the receivers at one node and sends the
-- message to those at all nodes, so a waiter might rely on a grant that was undone
-- because nobody was counted. tools/expand_scripts.py makes that form.
local REACHED_LEAST = 0
