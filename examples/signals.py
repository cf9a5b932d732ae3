# SPDX-License-Identifier: MIT
"""A signal for one of those who wait, or for all of them.

    python3 signals.py wait doors          in some terminals
    python3 signals.py one doors open      in another: to the first waiter, 1 or 0
    python3 signals.py all doors open      how many were reached

Only those who wait get it: see event.py for an event that stays.
"""

import sys

import interlock

verb, name = sys.argv[1:3]
with interlock.connect() as client:
    doors = client.signal(name)
    if verb == "wait":
        print(doors.wait().decode())
    else:
        notify = doors.notify_one if verb == "one" else doors.notify_all
        print(notify(sys.argv[3].encode()))
