# SPDX-License-Identifier: MIT
"""An event stays set: a late wait returns at once.

python3 event.py                 in some terminals: waits until it is set
python3 event.py "version 7"     in another: sets it, with data
"""

import sys

import interlock

with interlock.connect() as client:
    ready = client.event("ready")
    if len(sys.argv) > 1:
        ready.set(sys.argv[1])
    elif ready.wait():
        print(ready.data.decode())
