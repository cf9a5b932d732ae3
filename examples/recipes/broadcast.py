# SPDX-License-Identifier: MIT
"""All who wait for a channel hear what is signalled there.

    python3 broadcast.py wait news             in some terminals
    python3 broadcast.py signal news hello     in another: how many heard it

A signal is momentary: who does not wait does not hear it.
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
