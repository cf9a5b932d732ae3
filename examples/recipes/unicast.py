# SPDX-License-Identifier: MIT
"""One of those who wait is chosen, and gets the signal.

    python3 unicast.py wait work anna          in a terminal
    python3 unicast.py wait work ben           in another
    python3 unicast.py signal work hello       in a third: 1, or 0 if nobody waits

Each waiter has an id of its own, here anna and ben.
"""

import sys

import interlock
from interlock import recipes

verb, channel, word = sys.argv[1:4]
with interlock.connect() as client:
    r = recipes.bind(client)
    if verb == "wait":
        print(word, "hears", r.wait_single(channel, word)["data"].decode())
    else:
        print(r.signal_single(channel, word))
