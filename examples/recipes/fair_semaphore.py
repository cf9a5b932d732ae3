# SPDX-License-Identifier: MIT
"""A few at a time, in the order in which they came.

    python3 fair_semaphore.py seats 2          in some terminals

With two inside, others print "full". Enter refreshes the permit, which
would run out after 10 seconds, and gives it back.
"""

import sys

import interlock
from interlock.recipes import (
    acquire_fair_semaphore,
    refresh_fair_semaphore,
    release_fair_semaphore,
)

semname, limit = sys.argv[1], int(sys.argv[2])
with interlock.connect() as client:
    identifier = acquire_fair_semaphore(client, semname, limit, timeout=10)
    if identifier is None:
        sys.exit("full")
    print("inside", flush=True)
    input()
    print("mine" if refresh_fair_semaphore(client, semname, identifier) else "lost")
    print("released", release_fair_semaphore(client, semname, identifier))
