# SPDX-License-Identifier: MIT
"""One of several processes is the master, and stays it while it is well.

    python3 master.py             in some terminals; kill the one that leads
    python3 master.py 0.5         tries every half second instead of every 5

A tenure is 20 seconds. A master that worked for longer gives the office up
before it asks again, for it may have a successor already.
"""

import sys
import time

import interlock
from interlock import recipes

every = float(sys.argv[1]) if len(sys.argv) > 1 else 5
with interlock.connect() as client:
    r = recipes.bind(client)
    role = None
    while True:
        began = time.monotonic()
        before, role = role, "master" if r.master() else "waiting"
        if role != before:
            print(role, flush=True)
        time.sleep(every)  # here a master does its work
        if time.monotonic() - began > recipes.TENURE:
            r.local_selector = 0
