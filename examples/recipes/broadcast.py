# SPDX-License-Identifier: MIT
"""All who wait for a channel get the signals sent to it.

    python3 broadcast.py wait news             in some terminals
    python3 broadcast.py signal news hello     in another: how many got it

A signal is momentary: only those who wait get it.
"""

import sys

import interlock
from interlock import recipes

verb, channel = sys.argv[1:3]
with interlock.connect() as client:
    r = recipes.bind(client)
    if verb == "wait":
        print(r.wait(channel)["data"].decode())
    else:
        print(r.signal_broadcast(channel, sys.argv[3]))
