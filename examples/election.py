# SPDX-License-Identifier: MIT
"""One leads and publishes its address; observers get each change.

python3 election.py              in a terminal: who leads, and each change
python3 election.py here:80      in another: leads until Enter
python3 election.py there:80     in a third: leads when the first resigns
"""

import sys

import interlock

with interlock.connect() as client:
    if len(sys.argv) == 1:
        for value, _ in client.election("cron").observe():
            print(value.decode(), "leads", flush=True)
    else:
        with client.election("cron", value=sys.argv[1].encode()) as candidate:
            print("term", candidate.term, flush=True)
            input()
