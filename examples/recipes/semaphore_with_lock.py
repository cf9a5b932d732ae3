# SPDX-License-Identifier: MIT
"""A few at a time, beside programs that insert under a lock.

    python3 semaphore_with_lock.py seats 2     in some terminals

As fair_semaphore.py, which needs no lock. This takes the lock `lock:seats`
first: programs that read and write a semaphore in several steps under that
lock stay out meanwhile. With 10 ms for the lock, "full" may also mean busy.
"""

import sys

import interlock
from interlock.recipes import acquire_semaphore_with_lock, release_fair_semaphore

semname, limit = sys.argv[1], int(sys.argv[2])
with interlock.connect() as client:
    identifier = acquire_semaphore_with_lock(client, semname, limit)
    if identifier is None:
        sys.exit("full")
    print("inside", flush=True)
    input()
    print("released", release_fair_semaphore(client, semname, identifier))
