# SPDX-License-Identifier: MIT
"""Processes that count under one lock, and move to another store while they run.

The file `stores` has the URL of the store with the lock, or the URLs of two while
they move: then each turn takes both locks, in this order.

echo etcd://10.0.0.1 > stores
python3 move.py stores count &         # as often as you like
python3 move.py stores count &
echo etcd://10.0.0.1 redis://10.0.0.2 > stores
                                       # wait until each has printed this list
echo redis://10.0.0.2 > stores
: > stores                             # they end

At any time two processes have a store in common, so each turn excludes the others. The
way back is the same. Fences of the two stores do not compare.
"""

import contextlib
import sys
import time
from pathlib import Path

import interlock

stores, counter = map(Path, sys.argv[1:])
clients = {}
turns, before = 0, None

while urls := stores.read_text().split():
    if urls != before:
        print(*urls, flush=True)
        before = urls
    with contextlib.ExitStack() as held:
        for url in urls:
            if url not in clients:
                clients[url] = interlock.connect(url)
            held.enter_context(clients[url].lock("count", ttl=10, wait=60))
        # Nothing but the locks protects these three lines.
        count = int(counter.read_text()) if counter.exists() else 0
        time.sleep(0.001)
        counter.write_text(str(count + 1))
    turns += 1

print("turns", turns)
for client in clients.values():
    client.close()
